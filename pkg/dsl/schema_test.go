package dsl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func compiledSchema(t require.TestingT) *jsonschema.Schema {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:wovyr:dsl:v1", document))
	schema, err := c.Compile("urn:wovyr:dsl:v1")
	require.NoError(t, err)
	return schema
}

func TestSchemaIsTheSameEachTime(t *testing.T) {
	require.Equal(t, string(Schema()), string(Schema()))
	require.True(t, json.Valid(Schema()))
}

// What the parser accepts, the schema accepts.
func TestRandomDocuments(t *testing.T) {
	schema := compiledSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		data := marshal(t, randomDocument(t))
		require.Empty(t, errorsOf(data), "%s", data)
		require.NoError(t, validate(schema, data), "%s", data)
	})
}

// What is wrong in a document's structure, parser and schema find both or neither.
func TestParserAndSchemaAgree(t *testing.T) {
	schema := compiledSchema(t)
	rapid.Check(t, func(t *rapid.T) {
		document := randomDocument(t)
		for range rapid.IntRange(1, 3).Draw(t, "mutations") {
			mutate(t, document)
		}
		data := marshal(t, document)
		found, err := errorsOf(data), validate(schema, data)
		require.Equal(t, len(found) > 0, err != nil, "parser: %q\nschema: %v\n%s", found, err, data)
	})
}

func validate(schema *jsonschema.Schema, data []byte) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}

// The documents of the golden corpus, as far as they are there.
func TestSchemaAcceptsTheCorpus(t *testing.T) {
	schema := compiledSchema(t)
	files, err := filepath.Glob("testdata/valid/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		s := load(file, data, newSink(file))
		require.NotNil(t, s, file)
		require.NoError(t, schema.Validate(s.root.plain()), file)
	}
}

// Of the refused documents of the corpus, the schema refuses those whose structure is wrong, and no others.
func TestSchemaRefusesWhatTheParserRefuses(t *testing.T) {
	schema := compiledSchema(t)
	files, err := filepath.Glob("testdata/refused/*.yaml")
	require.NoError(t, err)
	both := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		k := newSink(file)
		s := load(file, data, k)
		if s == nil || k.failed() {
			continue
		}
		found := errorsOf(data)
		refused := schema.Validate(s.root.plain()) != nil
		if len(found) > 0 && refused {
			both++
		}
		require.Equal(t, len(found) > 0, refused, "%s: %q", file, found)
	}
	require.Greater(t, both, 50)
}

func TestPatternOfConditions(t *testing.T) {
	pattern := regexp.MustCompile(noBraces)
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.SampledFrom([]rune("a$${{}\"'\\\n")), 0, 12).Draw(t, "text"))
		require.Equal(t, !bracesOutsideTexts(text), pattern.MatchString(text), "%q", text)
	})
}
