package expr

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// zoneinfo is the IANA time zone database (2025c, public domain) as Go 1.26 distributes it in lib/time. It is part of
// this package, and not the machine's, so that a time has one local form on every machine.
//
//go:embed zoneinfo.zip
var zoneinfo []byte

// zones holds the zones that were used.
var zones = struct {
	sync.Mutex
	files map[string]*zip.File
	open  map[string]*time.Location
}{open: map[string]*time.Location{}}

// Zone returns a time zone by its IANA name, such as Europe/Stockholm, from a database that is the same on every
// machine. "" and "UTC" are UTC.
func Zone(name string) (*time.Location, error) {
	loc, bad := zone(name)
	if bad != nil {
		return nil, bad.in("", workflow.Position{})
	}
	return loc, nil
}

func zone(name string) (*time.Location, *failure) {
	if name == "" || name == "UTC" {
		return time.UTC, nil
	}
	zones.Lock()
	defer zones.Unlock()
	if loc := zones.open[name]; loc != nil {
		return loc, nil
	}
	if zones.files == nil {
		zones.files = zoneFiles()
	}
	f := zones.files[name]
	if f == nil {
		return nil, noZone(name)
	}
	data, err := readZone(f)
	if err != nil {
		panic("expr: the embedded time zone database is broken: " + err.Error())
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		panic("expr: the embedded time zone database is broken: " + err.Error())
	}
	zones.open[name] = loc
	return loc, nil
}

func noZone(name string) *failure {
	names := slices.Sorted(maps.Keys(zones.files))
	x := failf(CodeRange, "there is no time zone %q", name).or("use a name such as Europe/Stockholm, or an offset such as +02:00")
	if hint := didYouMean(name, names); hint != "" {
		x.hint = hint
	}
	return x
}

func zoneFiles() map[string]*zip.File {
	r, err := zip.NewReader(bytes.NewReader(zoneinfo), int64(len(zoneinfo)))
	if err != nil {
		panic("expr: the embedded time zone database is broken: " + err.Error())
	}
	files := map[string]*zip.File{}
	for _, f := range r.File {
		if !strings.HasSuffix(f.Name, "/") {
			files[f.Name] = f
		}
	}
	return files
}

func readZone(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// zoneOrOffset is a zone by name or by offset, +02:00.
func zoneOrOffset(name string) (*time.Location, *failure) {
	if len(name) > 0 && (name[0] == '+' || name[0] == '-' || name[0] >= '0' && name[0] <= '9') {
		return offsetZone(name)
	}
	return zone(name)
}

func offsetZone(name string) (*time.Location, *failure) {
	sign, text := 1, name
	switch name[0] {
	case '-':
		sign, text = -1, name[1:]
	case '+':
		text = name[1:]
	}
	t, err := time.ParseInLocation("15:04", text, time.UTC)
	if err != nil || len(text) != len("15:04") {
		return nil, noZone(name)
	}
	return time.FixedZone("", sign*(t.Hour()*3600+t.Minute()*60)), nil
}
