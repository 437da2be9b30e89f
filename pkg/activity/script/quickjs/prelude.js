// What a script finds besides the language: console; and what it does not find: a clock and randomness.
// It answers with the functions that the engine itself calls. Those use nothing that a script can change.
(function (log) {
  'use strict';
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const slice = uncurry(String.prototype.slice), join = uncurry(Array.prototype.join), map = uncurry(Array.prototype.map);
  const { parse, stringify, rawJSON } = JSON;
  const text = String, whole = BigInt, safe = Number.isSafeInteger, construct = Reflect.construct, Failure = Error, RealDate = Date;
  const isError = (e) => e instanceof Failure;

  const none = (what, way) => () => { throw new Failure(`a script has no ${what}: ${way}`); };
  const noClock = none('clock', 'hand the time in by `with`, as execution.started_at or the time of a step, and make a Date of it');
  RealDate.now = noClock;
  globalThis.Date = RealDate.prototype.constructor = new Proxy(RealDate, {
    apply: noClock,
    construct: (date, args, target) => args.length ? construct(date, args, target) : noClock(),
  });
  Math.random = none('randomness', 'hand a number in by `with`');
  delete globalThis.performance;

  const show = (v) => {
    if (typeof v === 'string') return v;
    try {
      if (isError(v)) return `${v}\n${v.stack}`;
      return stringify(v) ?? text(v);
    } catch {
      try { return text(v); } catch { return '(a value that cannot be shown)'; }
    }
  };
  const at = (level) => (...values) => log(level, join(map(values, show), ' '));
  globalThis.console = { debug: at(-4), log: at(0), info: at(0), warn: at(4), error: at(8) };

  // A BigInt leaves as a number with all its digits.
  BigInt.prototype.toJSON = function () { return rawJSON(text(this)); };

  const field = (o, name) => { try { return o[name]; } catch { return undefined; } };
  const words = (v, most) => { try { return v == null ? undefined : slice(text(v), 0, most); } catch { return undefined; } };
  return {
    // parse keeps whole numbers exact.
    parse: (json) => parse(json, (_, v, { source }) =>
      typeof v === 'number' && !safe(v) && source !== undefined && wholeNumber(source) ? whole(source) : v),
    // describe is the JSON text of what was thrown.
    describe(e) {
      if (typeof e !== 'object' && typeof e !== 'function' || e === null) return stringify({ message: slice(text(e), 0, 8192) });
      const d = {
        error: isError(e), name: words(field(e, 'name'), 256), message: words(field(e, 'message'), 8192), stack: words(field(e, 'stack'), 8192),
      };
      const own = { code: field(e, 'code'), category: field(e, 'category'), retryable: field(e, 'retryable') };
      if (typeof own.code === 'string') d.code = slice(own.code, 0, 256);
      if (typeof own.category === 'string') d.category = slice(own.category, 0, 64);
      if (typeof own.retryable === 'boolean') d.retryable = own.retryable;
      if (d.message === undefined) try { d.message = slice(stringify(e), 0, 8192); } catch { /* it has none */ }
      try {
        const details = stringify(field(e, 'details'));
        if (details !== undefined && details.length < 32768) d.details = parse(details);
      } catch { /* they are no JSON */ }
      return stringify(d);
    },
  };

  function wholeNumber(source) {
    for (let i = 0; i < source.length; i++) {
      const c = source[i];
      if (c !== '-' && (c < '0' || c > '9')) return false;
    }
    return true;
  }
})
