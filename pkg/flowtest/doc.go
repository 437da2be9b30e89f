// Package flowtest runs unit tests of workflows, which stand in a YAML file beside the workflow (docs/testing.md).
//
// A test gives a workflow its input, mocks its activities, and says what is to happen when: signals, events, decisions of
// people, cancels. The real engine runs it in virtual time, so that a year of waiting takes no time; what came out is held
// against what the test expects.
//
//	Load(file, read) → Suite      the test file and the workflows that it names, checked
//	Suite.Run(filter) → Result    each case with its failures, and what of the workflows was covered
//	WriteText, WriteJUnit         results for people and for machines
//
// Where to start reading: suite.go has the nouns of a test file, world.go runs a case, check.go holds the end
// against what is expected. The package reads no clock and no files: read gives it the content of files.
package flowtest
