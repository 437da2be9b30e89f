// Package std has a few functions for examples and tests: std.echo, std.sleep and std.fail.
package std
