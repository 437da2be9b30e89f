// Package encrypted keeps secrets in a file that may be checked in beside the workflows: names in clear, each value
// encrypted by itself in the format of age (age-encryption.org/v1).
//
//	recipients:
//	  - age1…
//	secrets:
//	  pay: |
//	    -----BEGIN AGE ENCRYPTED FILE-----
//
// Everybody who can read the file can add a value, for that needs only the recipients; to read one takes the key. A
// value is encrypted together with its name, so that nobody can put one in the place of another.
package encrypted
