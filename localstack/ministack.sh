#!/usr/bin/env bash
# An emulator of AWS on this machine, without Docker: ministack, from PyPI, listening on 127.0.0.1 only.
#
#   localstack/ministack.sh start     install (once), start in the background, wait until it answers
#   localstack/ministack.sh stop      end what start started, and nothing else, and say so
#   localstack/ministack.sh status    say whether it runs
#   localstack/ministack.sh run       the same in the foreground, until standard input ends: for tests, which
#                                     hold the other end, so that it goes when they do, however they end
#   localstack/ministack.sh install   only install
#
# PORT (4566) says where; each port is an emulator of its own. It forgets everything when it ends.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${PORT:-4566}
url=http://127.0.0.1:$port
cache=${XDG_CACHE_HOME:-$HOME/.cache}/wovyr
pins=$here/requirements.txt
venv=$cache/ministack-$(cksum <"$pins" | cut -d' ' -f1)
state=$here/../bin
pidfile=$state/ministack-$port.pid
log=$state/ministack-$port.log

# say prints to standard error, so that `run` keeps its standard output for others.
say() { printf '%s\n' "$*" >&2; }

# mine says whether the process of a pid file (of PORT's by default) is one that start started: a number may belong to somebody else by now.
mine() {
	local file=${1:-$pidfile}
	[ -s "$file" ] && kill -0 "$(cat "$file")" 2>/dev/null &&
		ps -o args= -p "$(cat "$file")" | grep -q "$venv/bin/"
}

# others lists the ports on which start has started one that still runs.
others() {
	local file
	for file in "$state"/ministack-*.pid; do
		if mine "$file"; then
			file=${file##*/ministack-}
			echo "PORT=${file%.pid}"
		fi
	done
}

# answers asks without a client of HTTP, which not every machine has.
answers() {
	local line
	{ exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || return 1
	printf 'GET /_ministack/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
	IFS= read -r -t 5 line <&3 || line=
	exec 3<&- 3>&-
	[[ $line == *" 200"* ]]
}

# free ends this script if something listens on the port already.
free() {
	if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
		say "something else listens on 127.0.0.1:$port: stop it, or choose another port, such as PORT=$((port + 1))"
		exit 1
	fi
}

# install makes the environment beside its place and moves it there, under a lock: a broken download leaves nothing
# behind, and tests that start at once install once.
install() {
	[ -e "$venv/.done" ] && return
	command -v python3 >/dev/null || { say "ministack needs python3 (3.10 or later): install it, then try again"; exit 1; }
	mkdir -p "$cache"
	while ! mkdir "$venv.lock" 2>/dev/null; do # no flock on macOS
		[ -e "$venv/.done" ] && return
		if ! kill -0 "$(cat "$venv.lock/pid" 2>/dev/null || echo $$)" 2>/dev/null; then rm -rf "$venv.lock"; fi
		sleep 0.2
	done
	trap 'rm -rf "$venv.lock"' EXIT
	echo $$ >"$venv.lock/pid"
	if [ ! -e "$venv/.done" ]; then
		say "installing ministack into $venv (once)"
		rm -rf "$venv"
		python3 -m venv "$venv" || { say "python3 cannot make virtual environments: install its venv module (Debian: python3-venv)"; exit 1; }
		"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$pins" >&2
		touch "$venv/.done"
	fi
	rm -rf "$venv.lock"
	trap - EXIT
}

# launch starts it in the background with its output in the log. AWS_ENDPOINT_URL is in its own environment, so that the Lambda
# functions that it runs find it. A caller's third descriptor is not handed on: whoever waits for the end of a pipe would wait for the emulator's.
launch() {
	mkdir -p "$state"
	env BIND_HOST=127.0.0.1 GATEWAY_PORT="$port" AWS_ENDPOINT_URL="$url" \
		AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1 AWS_REGION=us-east-1 \
		LOG_LEVEL="${MINISTACK_LOG:-WARNING}" nohup "$venv/bin/python" -m ministack >"$log" 2>&1 </dev/null 3>&- &
	child=$!
	echo "$child" >"$pidfile"
	for ((i = 0; i < 600; i++)); do
		answers && return
		kill -0 "$child" 2>/dev/null || break
		sleep 0.1
	done
	say "ministack did not start; its last words ($log):"
	tail -n 20 "$log" >&2
	end "$child"
	exit 1
}

# end ends a process that launch started, at first politely. The pid file goes with it, unless another start has written its own there by now.
end() {
	local pid=$1
	if [ -n "$pid" ]; then
		kill "$pid" 2>/dev/null || true
		for ((i = 0; i < 100; i++)); do
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.1
		done
		kill -9 "$pid" 2>/dev/null || true
		forget "$pid"
	fi
}

# forget removes the pid file if it holds this pid.
forget() { [ "$(cat "$pidfile" 2>/dev/null)" != "$1" ] || rm -f "$pidfile"; }

# stop says what it has ended, or where there is something to end.
stop() {
	local pid running
	pid=$(cat "$pidfile" 2>/dev/null || true)
	if mine; then
		end "$pid"
		say "ministack on $url is ended"
		return
	fi
	forget "$pid"
	running=$(others | paste -sd ' ' -)
	say "ministack of this folder does not run on $url: nothing to end there${running:+; it runs with $running}"
}

case ${1:-} in
install)
	install
	;;
start)
	if mine && answers; then
		say "ministack runs already on $url"
		exit 0
	fi
	free
	install
	launch
	say "ministack runs on $url"
	printf '# for the AWS command line and SDKs:\nexport AWS_ENDPOINT_URL=%s AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1\n' "$url"
	;;
stop)
	stop
	;;
status)
	if mine && answers; then say "ministack runs on $url"; else
		say "ministack does not run on $url"
		exit 1
	fi
	;;
run)
	install
	free
	trap 'end "${child:-}"; rm -f "$log"' EXIT
	trap 'exit 0' TERM INT
	launch
	echo "$url"
	cat >/dev/null
	;;
*)
	sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//' >&2
	exit 2
	;;
esac
