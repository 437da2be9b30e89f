package workflow

import "strings"

// slash stands for a slash of a name in an address. An escaped slash, %2F, does not get through everywhere: the HTTP APIs of AWS API Gateway
// undo it before they pass the address on, and so do some proxies. No ID of an execution and no path of a step has a colon.
const slash = ":"

// Segment is a name, such as the ID of a child execution or the path of a step, as one segment of an address, before what else must be escaped is.
func Segment(name string) string { return strings.ReplaceAll(name, "/", slash) }

// Named is the name that a segment of an address stands for, once its escapes are undone.
func Named(segment string) string { return strings.ReplaceAll(segment, slash, "/") }
