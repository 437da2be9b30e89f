// Package awsproxy stands between the functions of a deployed stack and an emulator of AWS. It tells which function called what, for tests of
// rights, and lets calls suffer what they suffer on AWS, for tests under faults. Signatures are not looked at: emulators check none.
//
// A function is known by its application ID, which the stack sets (AWS_SDK_UA_APP_ID) and the SDK sends with each call.
package awsproxy
