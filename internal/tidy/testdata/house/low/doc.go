// Package low stands lowest.
package low
