// Package mid stands on nothing.
package mid
