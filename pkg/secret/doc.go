// Package secret gives the values of secrets to the worker that runs an activity, and keeps them out of everything that it leaves behind.
//
// A Provider reads one from where it is kept: the environment, a file, an encrypted file, a service. A Vault stands in front of the
// providers of a process: it keeps values for a time, and knows all that it ever gave away. From them it makes a Mask, which
// replaces each of them by [secret:name], in whatever encoding it comes back: as it is, in JSON, in URLs, in base64, in
// hexadecimal. The worker lays it over the output, the error, the log and the heartbeats of every attempt.
//
// Shorter values than MinLength cannot be told from ordinary text and are refused.
package secret
