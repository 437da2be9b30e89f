// Package tidy holds the house rules of this repository as code: the import arrow, the purity of
// the core, the shape of packages, and the truth of the documents.
//
// Load reads a checkout, Check runs every rule over it and answers with findings, each with a place
// and a way out. The tables that the rules need (who may import whom, which words are refused) are
// a House; the repository's own stands in tidy_test.go at the root. The rules are themselves tested
// on testdata/house, a small module that breaks each of them on a marked line.
package tidy
