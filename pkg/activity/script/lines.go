package script

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
)

// Bounds of what a script writes to the execution's log.
const (
	maxLine  = 8 << 10   // bytes of one line
	maxLines = 256 << 10 // bytes of all lines of a run
	maxTail  = 4 << 10   // bytes of the end that go into an error
)

// lines writes what a script says to the log, up to a bound. It is an io.Writer of text, too.
type lines struct {
	log     *slog.Logger
	written int
	rest    []byte // the line that is not complete
	tail    []byte // the end of all text written
}

// line logs one line.
func (l *lines) line(level slog.Level, text string) {
	if l.written > maxLines {
		return
	}
	if l.written += len(text) + 1; l.written > maxLines {
		l.log.Warn("output", "line", "the script writes too much: nothing more of it is logged")
		return
	}
	l.log.Log(context.Background(), level, "output", "line", strings.ToValidUTF8(text, "\uFFFD"))
}

// Write implements io.Writer: each line is logged.
func (l *lines) Write(b []byte) (int, error) {
	l.tail = append(l.tail, b[max(0, len(b)-maxTail):]...)
	l.tail = l.tail[max(0, len(l.tail)-maxTail):]
	for rest := b; len(rest) > 0; {
		part, after, complete := bytes.Cut(rest, []byte("\n"))
		l.rest = append(l.rest, part[:min(len(part), max(0, maxLine-len(l.rest)))]...)
		if complete {
			l.flush()
		}
		rest = after
	}
	return len(b), nil
}

// flush logs what is there of a line.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.line(slog.LevelInfo, string(l.rest))
	}
	l.rest = l.rest[:0]
}

// last is the end of what was written.
func (l *lines) last() string {
	return strings.ToValidUTF8(strings.TrimSpace(string(l.tail)), "\uFFFD")
}
