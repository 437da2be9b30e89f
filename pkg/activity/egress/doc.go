// Package egress guards the calls that activities make to the network against server-side request forgery: a workflow's
// data often comes from strangers, and an address in it must not reach what only this machine or its network should.
//
// A Guard judges the address of each connection after names were resolved, at the moment of connecting. So it holds
// across redirects, whatever a name resolves to the second time, and in every notation of an address. Only addresses of
// the public internet are called, and those that the operator allows (`egress` in wovyr.yaml).
//
// An HTTP client takes Transport, which ignores the proxies of the environment: behind a proxy nobody here would see
// the address. Anything else takes DialContext, which must then also be the one to resolve the name.
package egress
