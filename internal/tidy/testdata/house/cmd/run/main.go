// Command run is described here; a main needs no doc.go.
package main

func main() {}
