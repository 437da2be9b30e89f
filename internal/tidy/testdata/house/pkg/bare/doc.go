package bare // want doc-go "bare has no doc.go" want example "pkg/bare has no Example"
