module github.com/wovyr/wovyr/bench/peers/wovyr

go 1.26.0

require (
	github.com/wovyr/wovyr v0.0.0
	github.com/wovyr/wovyr/bench/peers/harness v0.0.0
)

replace (
	github.com/wovyr/wovyr => ../../..
	github.com/wovyr/wovyr/bench/peers/harness => ../harness
)
