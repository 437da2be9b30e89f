// Package meter rewrites WebAssembly modules so that they can be stopped: Rewrite puts a counter into each loop and each function that calls
// others, and has the module call an imported function, Tick, each time that the counter has run down. Whoever provides Tick
// can end the module there, lets the Go scheduler in, and sees that it is alive. Between two ticks a module runs at full speed.
//
// Modules are those of WebAssembly 2.0, without threads, exceptions and tail calls. What Rewrite answers is to be validated by the engine
// that runs it, as any module is: a mistake here is then an error there.
package meter
