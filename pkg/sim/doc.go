// Package sim runs the production worker on a simulated platform: virtual time, queues that lose order and deliver twice, timers that fire
// early, late and twice, a store whose answers get lost, processes that crash between any two effects. One seed decides
// everything, so a run can be repeated exactly; checkers look at what came out.
//
// Run makes one run. A violation names its seed; the same seed with Config.Trace prints what happened.
package sim
