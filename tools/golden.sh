#!/usr/bin/env bash
# golden.sh: runs the tests of every package that has golden files with -update, which writes them anew.
set -euo pipefail
packages=$(git ls-files --cached --others --exclude-standard '*_test.go' |
	xargs grep -lE 'flag\.Bool\("update"' | xargs -rn1 dirname | sort -u | sed 's|^|./|')
if [[ -z $packages ]]; then
	echo 'no test has an "update" flag: nothing to write' >&2
	exit 1
fi
# shellcheck disable=SC2086 # one word a package
go test $packages -update
git diff --stat
