// Package rights holds what the functions of a deployed stack do against what their roles allow: nothing that they call may be missing in
// their roles, and nothing that their roles allow may be there for nothing. An emulator refuses no call, so this is what finds a missing right before AWS
// does. The calls come from package awsproxy, the roles from the deployment itself, and package iampolicy decides.
package rights
