// Package node is one Wovyr process on one machine: a local platform with its HTTP API, on a project. `wovyr run` and `wovyr dev` are made of it, and
// so is a program of a user's own that adds Go functions.
package node
