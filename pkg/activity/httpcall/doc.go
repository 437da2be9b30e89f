// Package httpcall is the activity kind http: one call of a REST API, with its answer as the output
// {status, headers, body} (docs/language.md, `http`).
//
// A Caller keeps what calls share: connections, tokens of OAuth 2, and a circuit breaker for each destination. Addresses that are
// not public are refused at the moment of connecting (package egress). Large answers are streamed and held in no memory.
//
// Everything that a step says comes from a workflow's data, so it is checked again here: nothing in it can add a header, a
// part or a second request.
package httpcall
