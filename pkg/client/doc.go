// Package client speaks to a Wovyr server: what the HTTP API takes and gives, as Go types, and a Client that calls it.
package client
