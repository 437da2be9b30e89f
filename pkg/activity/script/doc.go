// Package script runs the steps of kind script: JavaScript (`js`) and WebAssembly modules (`wasm`), both in a WebAssembly sandbox in
// this process. A script gets the step's `with` and answers with JSON, and that is all that it can do: there is no network, no file, no
// environment, no clock and no randomness.
//
// Three things hold whatever a script does. Its memory is at most `max_memory` of the step. It ends soon after its context does, also in a loop or a
// regular expression without end. All scripts that run at once have no more memory together than Options say: more wait in line.
//
// JavaScript is run by QuickJS, itself a WebAssembly module (folder quickjs), so nothing that a script finds wrong with the engine
// leads out of the sandbox. Package meter makes modules stoppable. ADR 0012 says why it is done so.
package script
