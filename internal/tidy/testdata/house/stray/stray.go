package stray // want arrow "in no layer" want doc-go "stray has no doc.go"
