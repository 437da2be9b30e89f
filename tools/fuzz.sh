#!/usr/bin/env bash
# fuzz.sh TIME PACKAGES...: runs each fuzz target of the packages for TIME, one after the other.
# A failing input is written to the package's testdata/fuzz by go test: commit it with the fix.
set -euo pipefail
time=$1
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# `go test -list` prints the names of a package's targets, then "ok <tab> package <tab> seconds".
go test -list '^Fuzz' "$@" >"$log" || { cat "$log"; exit 1; }
targets=$(awk '/^Fuzz/ { names[++n] = $1 } /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }' "$log")
if [[ -z $targets ]]; then
	echo "no fuzz target found in: $*" >&2
	exit 1
fi

passed=0
failed=0
while read -r package target; do
	echo "-- $target ($package, $time)"
	if go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null >"$log" 2>&1; then
		passed=$((passed + 1))
		tail -n 1 "$log"
	elif grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
		# A run that ends by time while a worker is busy is reported so by go test; no input failed.
		passed=$((passed + 1))
		echo "ok  	$package	(time ran out in the middle of an input)"
	else
		failed=$((failed + 1))
		cat "$log"
	fi
done <<<"$targets"
echo "fuzz: $passed passed, $failed failed"
((failed == 0))
