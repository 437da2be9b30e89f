#!/usr/bin/env bash
# The AWS platform on this machine: the real `cdk bootstrap` and `cdk deploy` against an emulator, with the real Lambda binaries executing.
#
#   localstack/aws-local.sh up      start the emulator (unless AWS_ENDPOINT_URL names one), deploy, say how to use it
#   localstack/aws-local.sh test    up, run the scenarios, and down again (SHORT=1: a few of them)
#   localstack/aws-local.sh down    end the emulator that up started; it forgets everything
#
# STACK (wovyr) names the stack, PORT (4566) the emulator's port, EMULATOR (ministack or localstack) which one answers. Needed: Go, Node.js,
# python3.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/..
stack=${STACK:-wovyr}
emulator=${EMULATOR:-ministack}
export PORT=${PORT:-4566}
mine=0
[ -n "${AWS_ENDPOINT_URL:-}" ] || mine=1
export AWS_ENDPOINT_URL=${AWS_ENDPOINT_URL:-http://127.0.0.1:$PORT}
export AWS_ENDPOINT_URL_S3=$AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1
export CDK_DEFAULT_ACCOUNT=000000000000 CDK_DEFAULT_REGION=us-east-1 CDK_DISABLE_VERSION_CHECK=1
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1 NODE_NO_WARNINGS=1

# The CDK command stands outside of the repository: it holds Go files that are none.
tools=${XDG_CACHE_HOME:-$HOME/.cache}/wovyr/cdk-$(cksum <"$here/package-lock.json" | cut -d' ' -f1)

say() { printf '%s\n' "$*" >&2; }

# cdk is the pinned CDK command. Notices are left out: they are read from the internet.
cdk() { (cd "$root" && "$tools/node_modules/.bin/cdk" "$@" --no-notices); }

options() {
	printf '%s\n' -c "stack=$stack" -c auth=none -c ephemeral=true
	[ "$(uname -m)" = aarch64 ] || printf '%s\n' -c architecture=x86_64
	[ "$emulator" != localstack ] || printf '%s\n' -c api=rest
}

up() {
	[ "$mine" = 0 ] || "$here/ministack.sh" start >/dev/null
	if [ ! -x "$tools/node_modules/.bin/cdk" ]; then
		say "installing the CDK command into $tools (once)"
		mkdir -p "$tools"
		cp "$here/package.json" "$here/package-lock.json" "$tools/"
		(cd "$tools" && npm ci --silent --no-audit --no-fund >&2)
	fi
	local log
	log=$root/bin/aws-local.log
	mkdir -p "$root/bin"
	mapfile -t choices < <(options)
	say "deploying the stack $stack to $AWS_ENDPOINT_URL (compiles the functions; the log is bin/aws-local.log)"
	# Bootstrapping needs no app, so it runs where there is none.
	if ! { (cd "$tools" && node_modules/.bin/cdk bootstrap "aws://$CDK_DEFAULT_ACCOUNT/$AWS_REGION" --no-notices) &&
		cdk deploy "${choices[@]}" --require-approval never --outputs-file bin/aws-local.json --output bin/cdk.out; } >"$log" 2>&1; then
		tail -n 30 "$log" >&2
		say "the deployment failed"
		exit 1
	fi
	say "deployed; the outputs are in bin/aws-local.json"
}

# usage says how to reach what was deployed.
usage() {
	local url host
	url=$(sed -n 's/.*"WovyrUrl": "\(.*\)".*/\1/p' "$root/bin/aws-local.json")
	host=${url#*://}
	cat >&2 <<TEXT

The API is at $url; where names below localhost do not resolve:

  curl -H 'Host: ${host%%/*}' $AWS_ENDPOINT_URL/v1/health

End it with: localstack/aws-local.sh down
TEXT
}

down() { [ "$mine" = 0 ] || "$here/ministack.sh" stop >/dev/null; }

case ${1:-} in
up)
	up
	usage
	;;
test)
	trap down EXIT
	up
	cd "$root"
	short=()
	[ -z "${SHORT:-}" ] || short=(-short)
	"${GO:-go}" test ./localstack/e2e -count=1 -v "${short[@]}" -args -stack "$stack" -emulator "$emulator" | grep -v '^=== '
	;;
down) down ;;
*)
	sed -n '2,9p' "${BASH_SOURCE[0]}" | sed 's/^# \{0,1\}//'
	exit 2
	;;
esac
