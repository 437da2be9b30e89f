package dsl

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/wovyr/wovyr/pkg/workflow"
)

// Compile turns one YAML 1.2 or JSON document into a validated definition. file is its name, for diagnostics only.
// Everything that is wrong is reported in one pass, in the order of the document; with any error the definition is nil.
// Time and memory are bounded whatever the bytes.
func Compile(file string, data []byte) (*workflow.Definition, []Diagnostic) {
	k := newSink(file)
	def, s := parse(file, data, k)
	if def != nil {
		analyze(def, s, k)
	}
	if k.failed() {
		def = nil
	}
	return def, k.sorted()
}

// Hash returns the hex SHA-256 of a definition's content: its identity beside tenant, name and version. Comments, empty lines and where things
// stand in the document are no part of it.
func Hash(def *workflow.Definition) string {
	form, err := def.Content()
	if err != nil {
		panic("dsl: a definition always has a JSON form: " + err.Error())
	}
	sum := sha256.Sum256(form)
	return hex.EncodeToString(sum[:])
}
