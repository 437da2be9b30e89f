// Package util has a name that says nothing.
package util // want package-name "util says nothing"
