// Package estimate tells from the history of an execution what it costs on AWS, wherever it ran: `wovyr cost` is built on it. It counts what the
// AWS platform does for each commit, in the units that AWS bills (package meter); a table of prices makes dollars of them.
//
// A history says how large each commit is, which attempts came through a queue, what was waited for and until when. What it does not say is taken
// from the figures of this package. Tests hold the estimate against the metered usage of a whole deployment (bench/aws): it is within ten percent.
package estimate
