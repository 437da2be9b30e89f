package flowtest

import (
	"encoding/xml"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Result is what running a suite came to.
type Result struct {
	File  string
	Cases []CaseResult
	// Coverage has an entry for each workflow that the suite names, the one under test first.
	Coverage []Coverage
}

// CaseResult is what one case came to.
type CaseResult struct {
	Name     string
	Line     int
	Failures []Failure
	// Took is the virtual time that passed, in nanoseconds; Steps, how many steps completed.
	Took  int64
	Steps int
	// Trace tells what happened, a line each.
	Trace []string
}

// Passed reports whether every case passed.
func (r *Result) Passed() bool {
	for i := range r.Cases {
		if len(r.Cases[i].Failures) > 0 {
			return false
		}
	}
	return true
}

// Run runs the cases that want accepts; nil accepts all. Equal suites have equal results, whenever and wherever they run.
func (s *Suite) Run(want func(name string) bool) *Result {
	r := &Result{File: s.File}
	covered := map[*subject]*coverage{}
	list := s.subjects()
	for _, sub := range list {
		covered[sub] = newCoverage(sub)
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		if want != nil && !want(c.Name) {
			continue
		}
		w := newWorld(s, c)
		failures := check(w, w.play())
		r.Cases = append(r.Cases, CaseResult{
			Name: c.Name, Line: c.At.Line, Failures: failures, Took: w.took(), Steps: len(w.record.path), Trace: w.record.trace,
		})
		w.cover(covered)
	}
	for _, sub := range list {
		r.Coverage = append(r.Coverage, covered[sub].result())
	}
	return r
}

// subjects lists the workflows of the suite, the one under test first, then by name.
func (s *Suite) subjects() []*subject {
	list := []*subject{s.main}
	for _, sub := range s.others {
		if sub != s.main {
			list = append(list, sub)
		}
	}
	rest := list[1:]
	sort.Slice(rest, func(i, j int) bool { return rest[i].def.Name < rest[j].def.Name })
	return list
}

// took is the virtual time from the start of the case to the end of the execution under test, or to where the case stopped.
func (w *world) took() int64 {
	if w.main != nil && w.main.state != nil && w.main.state.EndedAt > 0 {
		return w.main.state.EndedAt - w.c.Clock
	}
	return w.now - w.c.Clock
}

// cover marks what the case went through.
func (w *world) cover(covered map[*subject]*coverage) {
	failed := map[*run]map[string]*workflow.Error{}
	for _, e := range w.record.seen {
		if failed[e.on] == nil {
			failed[e.on] = map[string]*workflow.Error{}
		}
		covered[e.on.subject].saw(e.on, e.event, failed[e.on])
	}
}

// maxTrace bounds the lines of a trace that are shown for a failure.
const maxTrace = 60

// WriteText writes results for people: a line a case, and for each failure where it is, what is wrong, and what happened.
// verbose shows what happened for every case.
func WriteText(out io.Writer, results []*Result, verbose bool) error {
	var b strings.Builder
	total, failed := 0, 0
	for _, r := range results {
		fmt.Fprintf(&b, "%s\n", r.File)
		for i := range r.Cases {
			c := &r.Cases[i]
			total++
			if len(c.Failures) > 0 {
				failed++
			}
			c.write(&b, r.File, verbose)
		}
	}
	switch {
	case total == 0:
		b.WriteString("no tests were run\n")
	case failed > 0:
		fmt.Fprintf(&b, "%d of %s failed\n", failed, plural(total, "test"))
	default:
		fmt.Fprintf(&b, "%s passed\n", plural(total, "test"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (c *CaseResult) write(b *strings.Builder, file string, verbose bool) {
	word := "ok  "
	if len(c.Failures) > 0 {
		word = "FAIL"
	}
	fmt.Fprintf(b, "  %s  %s (%s, %s)\n", word, c.Name, plural(c.Steps, "step"), shortTime(c.Took)[1:])
	for _, f := range c.Failures {
		fmt.Fprintf(b, "        %s:%d:%d: %s\n", file, f.At.Line, f.At.Column, f.Message)
		for _, line := range f.Detail {
			fmt.Fprintf(b, "          %s\n", line)
		}
	}
	if len(c.Failures) == 0 && !verbose || len(c.Trace) == 0 {
		return
	}
	trace := c.Trace
	if len(trace) > maxTrace && !verbose {
		fmt.Fprintf(b, "        what happened, the last %d of %d lines:\n", maxTrace, len(trace))
		trace = trace[len(trace)-maxTrace:]
	} else {
		b.WriteString("        what happened:\n")
	}
	for _, line := range trace {
		fmt.Fprintf(b, "        %s\n", line)
	}
}

// WriteCoverage writes for each workflow how much was covered, and each part that was not with its line.
func WriteCoverage(out io.Writer, list []Coverage) error {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "coverage of %s\n", c)
		for _, missing := range []struct {
			what  string
			parts []Part
		}{{"step", c.Steps.Missing}, {"branch", c.Branches.Missing}} {
			for _, p := range missing.parts {
				fmt.Fprintf(&b, "  %s:%d: %s not covered: %s\n", c.File, p.At.Line, missing.what, p.Name)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// MergeCoverage puts together what several results covered of the same workflow: a part is missing only if it is in all.
func MergeCoverage(results []*Result) []Coverage {
	var list []Coverage
	for _, r := range results {
		for _, c := range r.Coverage {
			i := 0
			for i < len(list) && list[i].File != c.File {
				i++
			}
			if i == len(list) {
				list = append(list, c)
				continue
			}
			list[i].Steps.Missing = both(list[i].Steps.Missing, c.Steps.Missing)
			list[i].Branches.Missing = both(list[i].Branches.Missing, c.Branches.Missing)
		}
	}
	return list
}

func both(a, b []Part) []Part {
	in := map[Part]bool{}
	for _, p := range b {
		in[p] = true
	}
	var out []Part
	for _, p := range a {
		if in[p] {
			out = append(out, p)
		}
	}
	return out
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int           `xml:"line,attr"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes results as JUnit XML, which CI systems read. It holds no times of the machine, so that equal results
// have equal bytes.
func WriteJUnit(out io.Writer, results []*Result) error {
	all := junitSuites{}
	for _, r := range results {
		s := junitSuite{Name: r.File}
		for i := range r.Cases {
			c := &r.Cases[i]
			one := junitCase{Name: c.Name, ClassName: r.File, File: r.File, Line: c.Line}
			if len(c.Failures) > 0 {
				var b strings.Builder
				c.write(&b, r.File, false)
				one.Failure = &junitFailure{Message: c.Failures[0].Message, Text: b.String()}
				s.Failures++
			}
			s.Cases = append(s.Cases, one)
		}
		s.Tests = len(s.Cases)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(append([]byte(xml.Header), data...), '\n'))
	return err
}
