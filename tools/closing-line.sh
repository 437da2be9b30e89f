#!/usr/bin/env bash
# gotestsum calls this after a run. It prints the closing line, and fails a run in which no test ran.
set -euo pipefail
passed=$((TESTS_TOTAL - TESTS_FAILED - TESTS_SKIPPED))
echo "$passed passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
if ((passed + TESTS_FAILED == 0)); then
	echo "no test ran: check PKG and RUN" >&2
	exit 1
fi
