package secret

import (
	"context"
	"encoding/json"
	"log/slog"
)

// Handler masks what goes into a log: the message, the names and values of attributes, in groups too. mask gives the mask as it is at the
// time of each record.
func Handler(h slog.Handler, mask func() *Mask) slog.Handler { return &handler{next: h, mask: mask} }

// Standard makes a logger that of the process: what libraries write by package log goes there as an error, past no mask.
func Standard(l *slog.Logger) {
	slog.SetLogLoggerLevel(slog.LevelError)
	slog.SetDefault(l)
}

type handler struct {
	next slog.Handler
	mask func() *Mask
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	m := h.mask()
	if m.empty() {
		return h.next.Handle(ctx, r)
	}
	masked := slog.NewRecord(r.Time, r.Level, m.String(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		masked.AddAttrs(m.attr(a))
		return true
	})
	return h.next.Handle(ctx, masked)
}

// WithAttrs implements slog.Handler. What is masked later than here is not masked in these.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	m, masked := h.mask(), make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		masked[i] = m.attr(a)
	}
	return &handler{next: h.next.WithAttrs(masked), mask: h.mask}
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{next: h.next.WithGroup(h.mask().String(name)), mask: h.mask}
}

func (m *Mask) attr(a slog.Attr) slog.Attr {
	if m.empty() {
		return a
	}
	return slog.Attr{Key: m.String(a.Key), Value: m.value(a.Value.Resolve())}
}

func (m *Mask) value(v slog.Value) slog.Value {
	if v.Kind() == slog.KindGroup {
		group := make([]slog.Attr, len(v.Group()))
		for i, a := range v.Group() {
			group[i] = m.attr(a)
		}
		return slog.GroupValue(group...)
	}
	text := v.String()
	masked := m.String(text)
	if masked != text {
		return slog.StringValue(masked)
	}
	if v.Kind() == slog.KindAny {
		// A handler that writes JSON would show what the text does not: bytes, fields behind pointers.
		if _, failed := v.Any().(error); failed {
			return v
		}
		if b, err := json.Marshal(v.Any()); err == nil {
			if masked := m.JSON(b); string(masked) != string(b) {
				return slog.StringValue(string(masked))
			}
		}
	}
	return v
}
