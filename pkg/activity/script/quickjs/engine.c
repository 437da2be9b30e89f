// The JavaScript engine of script steps: QuickJS-NG with the few functions that the Go side calls. It is compiled to a WebAssembly module that
// imports one function, for console, and nothing of WASI: no clock, no randomness, no file, no environment.
// See build.sh.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <wasi/api.h>

#include "quickjs.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

__attribute__((import_module("wovyr"), import_name("log"))) void host_log(int32_t level, const char *text, size_t size);

// What libc would ask of WASI. Time stands still, and what is printed (the engine prints when it is debugged) goes nowhere.
int gettimeofday(struct timeval *tv, void *zone) {
    memset(tv, 0, sizeof *tv);
    return 0;
}
int clock_gettime(clockid_t clock, struct timespec *t) {
    memset(t, 0, sizeof *t);
    return 0;
}
__wasi_errno_t __wasi_fd_write(__wasi_fd_t fd, const __wasi_ciovec_t *parts, size_t n, __wasi_size_t *written) { return __WASI_ERRNO_BADF; }
__wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) { return __WASI_ERRNO_BADF; }
int close(int fd) { return -1; }
__wasi_errno_t __wasi_fd_seek(__wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence, __wasi_filesize_t *at) { return __WASI_ERRNO_BADF; }
__wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *stat) { return __WASI_ERRNO_BADF; }

// How a run ended.
enum status { DONE, SYNTAX, THROWN, NO_JSON, MEMORY, PENDING, INPUT };

// Limits of the engine itself, in bytes.
enum { STACK = 512 << 10, RESERVE = 64 << 10 };

static JSRuntime *runtime;
static JSContext *context;
static JSValue parse_function, describe_function;

static const char *result;
static size_t result_size;
static bool starved;  // an allocation has failed
static void *reserve; // freed when memory is short, to have what describes the error

// The first rejections of promises that nobody handles.
enum { REJECTIONS = 16 };
static struct {
    JSValue promise, reason;
} rejections[REJECTIONS];
static int rejected;

static const char prelude[] = {
#embed "prelude.js"
    , 0};

static void *allocated(void *p) {
    if (!p)
        starved = true;
    return p;
}
static void *engine_calloc(void *opaque, size_t n, size_t size) { return allocated(calloc(n, size)); }
static void *engine_malloc(void *opaque, size_t size) { return allocated(malloc(size)); }
static void *engine_realloc(void *opaque, void *p, size_t size) {
    void *moved = realloc(p, size);
    return size ? allocated(moved) : moved;
}
static void engine_free(void *opaque, void *p) { free(p); }
static size_t engine_usable(const void *p) { return 0; } // unknown

static JSValue console(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv) {
    int32_t level;
    size_t size;
    const char *text;
    if (argc < 2 || JS_ToInt32(ctx, &level, argv[0]))
        return JS_EXCEPTION;
    text = JS_ToCStringLen(ctx, &size, argv[1]);
    if (!text)
        return JS_EXCEPTION;
    host_log(level, text, size);
    JS_FreeCString(ctx, text);
    return JS_UNDEFINED;
}

static void rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
    if (!handled && rejected < REJECTIONS) {
        rejections[rejected].promise = JS_DupValue(ctx, promise);
        rejections[rejected++].reason = JS_DupValue(ctx, reason);
        return;
    }
    for (int i = 0; handled && i < rejected; i++) {
        if (JS_VALUE_GET_PTR(rejections[i].promise) == JS_VALUE_GET_PTR(promise)) {
            rejections[i] = rejections[--rejected];
            return;
        }
    }
}

void *EXPORT(allocate)(size_t size) { return malloc(size); }
const char *EXPORT(result_at)(void) { return result; }
size_t EXPORT(result_length)(void) { return result_size; }

// prepare makes the engine ready. Its memory is copied then, and each run begins with the copy. It returns 0 if all went well.
int EXPORT(prepare)(void) {
    static const JSMallocFunctions functions = {engine_calloc, engine_malloc, engine_free, engine_realloc, engine_usable};
    JSValue setup, log, tools;
    runtime = JS_NewRuntime2(&functions, NULL);
    if (!runtime)
        return 1;
    JS_SetMaxStackSize(runtime, STACK);
    JS_SetHostPromiseRejectionTracker(runtime, rejection, NULL);
    context = JS_NewContext(runtime);
    reserve = malloc(RESERVE);
    if (!context || !reserve)
        return 2;
    setup = JS_Eval(context, prelude, sizeof prelude - 1, "prelude.js", JS_EVAL_TYPE_GLOBAL);
    if (JS_IsException(setup))
        return 3;
    log = JS_NewCFunction(context, console, "log", 2);
    tools = JS_Call(context, setup, JS_UNDEFINED, 1, &log);
    if (JS_IsException(tools))
        return 4;
    parse_function = JS_GetPropertyStr(context, tools, "parse");
    describe_function = JS_GetPropertyStr(context, tools, "describe");
    JS_FreeValue(context, tools);
    JS_FreeValue(context, log);
    JS_FreeValue(context, setup);
    JS_RunGC(runtime);
    return 0;
}

static bool keep(JSValue text) {
    result = JS_ToCStringLen(context, &result_size, text);
    return result != NULL;
}

// ran_short reports whether an error is that of the engine itself for want of memory.
static bool ran_short(JSValueConst error) {
    bool is = false;
    if (!starved)
        return false;
    if (!JS_IsError(error))
        return JS_IsNull(error); // there was not even memory for the error
    JSValue message = JS_GetPropertyStr(context, error, "message");
    const char *text = JS_IsException(message) ? NULL : JS_ToCString(context, message);
    is = text && strcmp(text, "out of memory") == 0;
    JS_FreeCString(context, text);
    JS_FreeValue(context, message);
    return is;
}

// failed describes an error in the result.
static int failed(int status, JSValue error) {
    free(reserve);
    reserve = NULL;
    if (ran_short(error))
        status = MEMORY;
    JSValue text = JS_Call(context, describe_function, JS_UNDEFINED, 1, &error);
    if (JS_IsException(text) || !keep(text))
        result_size = 0;
    return status;
}

static int failed_now(int status) { return failed(status, JS_GetException(context)); }

// settle runs what waits until nothing does, and returns how the promise ended.
static int settle(JSValue promise, JSValue *value) {
    JSContext *job;
    int more;
    while ((more = JS_ExecutePendingJob(runtime, &job)) > 0)
        ;
    if (more < 0)
        return failed_now(THROWN);
    switch (JS_PromiseState(context, promise)) {
    case JS_PROMISE_REJECTED:
        return failed(THROWN, JS_PromiseResult(context, promise));
    case JS_PROMISE_FULFILLED:
        *value = JS_PromiseResult(context, promise);
        return rejected ? failed(THROWN, rejections[0].reason) : DONE;
    default:
        return PENDING;
    }
}

// run calls a function of `input`, whose whole text is source, and leaves the JSON text of what it returns, or of what went wrong, in the
// result. Texts end in a 0 that their size does not count. With exact, whole numbers that a double cannot hold become BigInts.
int EXPORT(run)(const char *source, size_t source_size, const char *input, size_t input_size, int exact) {
    JSValue function, argument, promise, value = JS_UNDEFINED, json;
    int status;
    result_size = 0;
    JS_UpdateStackTop(runtime);
    function = JS_Eval(context, source, source_size, "script.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(function))
        return failed_now(SYNTAX);
    function = JS_EvalFunction(context, function);
    if (JS_IsException(function))
        return failed_now(THROWN);
    if (exact) {
        JSValue text = JS_NewStringLen(context, input, input_size);
        argument = JS_IsException(text) ? text : JS_Call(context, parse_function, JS_UNDEFINED, 1, &text);
        JS_FreeValue(context, text);
    } else {
        argument = JS_ParseJSON(context, input, input_size, "input");
    }
    if (JS_IsException(argument))
        return failed_now(INPUT);
    promise = JS_Call(context, function, JS_UNDEFINED, 1, &argument);
    if (JS_IsException(promise))
        return failed_now(THROWN);
    if ((status = settle(promise, &value)) != DONE)
        return status;
    json = JS_JSONStringify(context, value, JS_UNDEFINED, JS_UNDEFINED);
    if (JS_IsException(json))
        return failed_now(NO_JSON);
    if (JS_IsUndefined(json)) {
        result = "null";
        result_size = 4;
        return DONE;
    }
    return keep(json) ? DONE : failed_now(NO_JSON);
}
