package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// A script is a story: comment lines, then directives, each with a line, an optional body, and what came out.
//
//	# A first failure is retried.
//
//	define
//	dsl: wovyr/v1
//	…
//	----
//	fine
//
//	start {"id": 1}
//	----
//	1 WorkflowCreated …
//
// Outputs end at an empty line. They can be written anew with -update.
type script struct {
	file       string
	directives []directive
}

// directive is one step of a story.
type directive struct {
	line    int    // in the file, from 1
	comment string // lines before it
	text    string // as it stands
	body    string
	want    string

	on      string // execution that it is about: `@shipping complete …`
	verb    string
	words   []string
	options map[string]string
}

const divider = "----"

func readScript(file string) (*script, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	s := &script{file: file}
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	comment := ""
	for i := 0; i < len(lines); {
		if strings.TrimSpace(lines[i]) == "" || strings.HasPrefix(lines[i], "#") {
			comment += lines[i] + "\n"
			i++
			continue
		}
		d := directive{line: i + 1, comment: comment, text: lines[i]}
		comment = ""
		for i++; i < len(lines) && lines[i] != divider; i++ {
			d.body += lines[i] + "\n"
		}
		if i == len(lines) {
			return nil, fmt.Errorf("%s:%d: %q is not followed by a line %s", file, d.line, d.text, divider)
		}
		for i++; i < len(lines) && lines[i] != ""; i++ {
			d.want += lines[i] + "\n"
		}
		if err := d.parse(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, d.line, err)
		}
		s.directives = append(s.directives, d)
	}
	return s, nil
}

// write stores the script with what came out.
func (s *script) write(got []string) error {
	var b strings.Builder
	for i, d := range s.directives {
		b.WriteString(d.comment + d.text + "\n" + d.body + divider + "\n" + got[i])
	}
	return os.WriteFile(s.file, []byte(b.String()), 0o644)
}

// parse takes the line apart: `[@execution] verb word… option=… {json}`. A word that starts with {, [ or " is a JSON value and may hold
// spaces; so may an option's value.
func (d *directive) parse() error {
	d.options = map[string]string{}
	rest := strings.TrimSpace(d.text)
	for rest != "" {
		name := ""
		if eq := strings.IndexByte(rest, '='); eq > 0 && isName(rest[:eq]) {
			name, rest = rest[:eq], rest[eq+1:]
		}
		word := ""
		if rest != "" && strings.IndexByte(`{["`, rest[0]) >= 0 {
			dec := json.NewDecoder(strings.NewReader(rest))
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return fmt.Errorf("%q: %w", rest, err)
			}
			word = string(v)
			rest = rest[dec.InputOffset():]
		} else {
			word, rest, _ = strings.Cut(rest, " ")
		}
		rest = strings.TrimLeft(rest, " ")
		switch {
		case name != "":
			if strings.HasPrefix(word, `"`) {
				_ = json.Unmarshal([]byte(word), &word) // it was decoded once
			}
			d.options[name] = word
		case d.verb == "" && strings.HasPrefix(word, "@"):
			d.on = word[1:]
		case d.verb == "":
			d.verb = word
		default:
			d.words = append(d.words, word)
		}
	}
	if d.verb == "" {
		return fmt.Errorf("a directive is missing")
	}
	return nil
}

func isName(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r == '_') {
			return false
		}
	}
	return s != ""
}

// word is the i-th word, or nothing.
func (d *directive) word(i int) string {
	if i < len(d.words) {
		return d.words[i]
	}
	return ""
}

// takeJSON takes the last word if it is a JSON value.
func (d *directive) takeJSON() (string, bool) {
	n := len(d.words)
	if n == 0 || !json.Valid([]byte(d.words[n-1])) {
		return "", false
	}
	last := d.words[n-1]
	d.words = d.words[:n-1]
	return last, true
}
