// Package graph turns a workflow definition into a picture: Mermaid, Graphviz DOT or SVG.
//
// Of builds a Graph, and Mermaid, DOT and SVG write it. A step with a body (foreach, loop, race, group) is a cluster. The same
// definition gives the same bytes, and a change of one step changes little else, so that pictures can be kept
// beside documents and compared. Names and conditions come from users; each format escapes them.
package graph
