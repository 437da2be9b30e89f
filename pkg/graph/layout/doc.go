// Package layout places the nodes of a directed graph in layers, from top to bottom, and routes its edges between them
// (Sugiyama, Tagawa and Toda 1981): back edges are turned, nodes get the layer of their longest path, long edges are cut
// into pieces, pieces are ordered for few crossings by medians, and each layer is then moved to where its neighbours
// are, by least squares.
//
// All coordinates are whole numbers, so that one graph has one drawing on every machine. A nested graph is drawn first
// and then is one large node of the graph around it.
package layout
