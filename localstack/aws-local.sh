#!/usr/bin/env bash
# The AWS platform on this machine: the real `cdk bootstrap` and `cdk deploy` against an emulator, with the real Lambda binaries executing.
#
#   localstack/aws-local.sh up      start the emulator (unless AWS_ENDPOINT_URL names one), deploy, say how to use it; again: deploy
#                                   what has changed, while executions go on
#   localstack/aws-local.sh test    up, run the scenarios (SHORT=1: a few of them), and end the emulator if it did not run before
#   localstack/aws-local.sh chaos   up, run executions under faults (arguments go to the test: -seed 1 -seeds 3 -minutes 2 -rate 0.15), and end it likewise
#   localstack/aws-local.sh down    end the emulator that up started, if it runs, and say so; it forgets everything
#
# STACK (wovyr) names the stack, PORT (4566) the emulator's port, EMULATOR (ministack or localstack) which one answers. Needed: Go, Node.js 20 or
# later, and for ministack python3 with its venv module.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/..
stack=${STACK:-wovyr}
emulator=${EMULATOR:-ministack}
# mine says that the emulator is one that up starts or has started: AWS_ENDPOINT_URL names another, unless it is what up said to export.
mine=1
case ${AWS_ENDPOINT_URL:-} in
'') ;;
http://127.0.0.1:*)
	PORT=${AWS_ENDPOINT_URL##*:}
	PORT=$PORT "$here/ministack.sh" status 2>/dev/null || mine=0
	;;
*) mine=0 ;;
esac
export PORT=${PORT:-4566}
export AWS_ENDPOINT_URL=${AWS_ENDPOINT_URL:-http://127.0.0.1:$PORT}
export AWS_ENDPOINT_URL_S3=$AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export CDK_DEFAULT_ACCOUNT=000000000000 CDK_DEFAULT_REGION=us-east-1 CDK_DISABLE_VERSION_CHECK=1
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1 NODE_NO_WARNINGS=1

# The CDK command stands outside of the repository: it holds Go files that are none.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wovyr/cdk-$(cksum <"$here/package-lock.json" | cut -d' ' -f1)

# say speaks to whoever started this, wherever the output goes just now.
exec 3>&2
say() { printf '%s\n' "$*" >&3; }

# need says what to install when a program is not there.
need() { command -v "$1" >/dev/null || { say "this needs $2: install it, then try again"; exit 1; }; }

prepare() {
	need "${GO:-go}" "Go (go.mod says which version)"
	need node "Node.js 20 or later (the cdk command runs on it)"
	need npm "npm, which comes with Node.js (Debian: package npm)"
	[ "$mine" = 0 ] || need python3 "python3 3.10 or later with its venv module (Debian: python3-venv)"
	if [ "$(node -p 'process.versions.node.split(".")[0] >= 20')" != true ]; then
		say "this needs Node.js 20 or later, and $(command -v node) is $(node --version): install a newer one, then try again"
		exit 1
	fi
}

# interrupted ends what a deployment that is cut off has started: half a stack is of no use.
interrupted() {
	trap '' INT TERM
	say "interrupted"
	if [ "$ours" = 1 ]; then
		down
	fi
	exit 130
}

# cdk is the pinned CDK command. Notices are left out: they are read from the internet.
cdk() { (cd "$root" && "$tools/node_modules/.bin/cdk" "$@" --no-notices); }

options() {
	printf '%s\n' -c "stack=$stack" -c auth=none -c ephemeral=true -c listenTo=aws.s3
	[ "$(uname -m)" = aarch64 ] || printf '%s\n' -c architecture=x86_64
	[ "$emulator" != localstack ] || printf '%s\n' -c api=rest -c dashboard=false
}

# ours says that the emulator was started by this very run.
ours=0

up() {
	local began=$SECONDS
	prepare
	trap interrupted INT TERM
	if [ "$mine" = 1 ] && ! "$here/ministack.sh" status 2>/dev/null; then
		ours=1
		"$here/ministack.sh" start >/dev/null
	fi
	if [ ! -x "$tools/node_modules/.bin/cdk" ]; then
		say "installing the CDK command into $tools (once)"
		mkdir -p "$tools"
		cp "$here/package.json" "$here/package-lock.json" "$tools/"
		(cd "$tools" && npm ci --silent --no-audit --no-fund >&2)
	fi
	local log
	log=$root/bin/aws-local-$stack.log
	mkdir -p "$root/bin"
	mapfile -t choices < <(options)
	say "deploying the stack $stack to $AWS_ENDPOINT_URL (compiles the functions; the log is bin/aws-local-$stack.log)"
	# Bootstrapping needs no app, so it runs where there is none.
	if ! { (cd "$tools" && node_modules/.bin/cdk bootstrap "aws://$CDK_DEFAULT_ACCOUNT/$AWS_REGION" --no-notices) &&
		cdk deploy "${choices[@]}" --require-approval never --outputs-file "bin/aws-local-$stack.json" --output "bin/cdk-$stack.out"; } >"$log" 2>&1; then
		grep -E -m 20 '_FAILED|❌|ERROR|[Ee]rror:|panic:' "$log" >&2 || tail -n 30 "$log" >&2
		say "the deployment failed; all that cdk said is in bin/aws-local-$stack.log"
		[ "$ours" = 0 ] || down
		exit 1
	fi
	trap - INT TERM
	say "deployed after $((SECONDS - began)) s; the outputs are in bin/aws-local-$stack.json"
}

# usage says what to do next.
usage() {
	cat >&2 <<TEXT

The AWS platform runs on this machine. In this folder:

  export AWS_ENDPOINT_URL=$AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 WOVYR_STACK=$stack
  go build -o bin/ ./cmd/wovyr
  bin/wovyr deploy localstack/hello.yaml
  bin/wovyr start hello --input '{"name": "Ann"}' --wait
  bin/wovyr list

After a change: localstack/aws-local.sh up, which deploys what has changed. The functions log to the emulator's CloudWatch Logs (aws logs tail).
The end: localstack/aws-local.sh down, which forgets everything. docs/local-aws.md says what an emulator shows, and what it does not.
TEXT
}

# shop deploys the app of a customer, with a worker class and a function in Python: a second stack, with the functions that the first one has compiled.
# Its go.mod follows that of the repository by itself (-mod=mod).
shop() {
	say "deploying examples/aws-inventory as the stack shop (the log is bin/shop.log)"
	mapfile -t choices < <(options)
	if ! (cd "$root/examples/aws-inventory" && GOFLAGS=-mod=mod "$tools/node_modules/.bin/cdk" deploy "${choices[@]}" -c "code=$(cd "$root" && pwd)/bin/lambda" --require-approval never --no-notices) >"$root/bin/shop.log" 2>&1; then
		tail -n 30 "$root/bin/shop.log" >&2
		say "the deployment of examples/aws-inventory failed"
		exit 1
	fi
}

# down ends what up has started: ministack.sh says what that was, or which ports have one.
down() {
	if [ "$AWS_ENDPOINT_URL" = "http://127.0.0.1:$PORT" ]; then
		"$here/ministack.sh" stop 2>&3
	else
		say "AWS_ENDPOINT_URL names $AWS_ENDPOINT_URL, which was not started by this script: nothing to end there"
	fi
}

case ${1:-} in
up)
	up
	usage
	;;
test)
	trap '[ "$ours" = 0 ] || down' EXIT
	up
	customer=()
	if [ "$emulator" = ministack ]; then # LocalStack runs functions in Python only where there is Docker
		shop
		customer=(-shop shop)
	fi
	cd "$root"
	short=()
	[ -z "${SHORT:-}" ] || short=(-short)
	"${GO:-go}" test ./localstack/e2e -count=1 -v "${short[@]}" -args -stack "$stack" -emulator "$emulator" "${customer[@]}" | grep -v '^=== '
	if [ "$emulator" = ministack ]; then # whose functions are processes of this machine, which can reach a proxy and be killed
		"${GO:-go}" test ./localstack/chaos -count=1 -v -short -args -stack "$stack" | grep -v '^=== '
	fi
	;;
chaos)
	trap '[ "$ours" = 0 ] || down' EXIT
	up
	cd "$root"
	"${GO:-go}" test ./localstack/chaos -count=1 -v -timeout 0 -args -stack "$stack" "${@:2}" | grep -v '^=== '
	;;
down) down ;;
*)
	sed -n '2,/^set /p' "${BASH_SOURCE[0]}" | sed '$d'  | sed 's/^# \{0,1\}//'
	exit 2
	;;
esac
