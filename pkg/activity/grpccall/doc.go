// Package grpccall is the activity kind grpc: one unary or server-streaming call, JSON in and out (docs/language.md, `grpc`). The types
// come from the server itself, by reflection, or from a descriptor set of the project.
//
// The answer of a unary call is its message, that of a stream the list of its messages, in the JSON form of protobuf. A
// status other than OK is the error grpc.<status>, such as grpc.not_found.
//
// A Caller keeps what calls share: connections, and what it knows of services. Addresses that are not public are refused at the
// moment of connecting (package egress).
package grpccall
