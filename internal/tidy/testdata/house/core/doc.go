// Package core is meant to be pure.
package core
