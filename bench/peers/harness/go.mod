module github.com/wovyr/wovyr/bench/peers/harness

go 1.26.0
