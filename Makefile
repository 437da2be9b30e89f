# Wovyr. `make` alone lists the targets. Nothing is needed but Go, make, git and bash: the tools come through
# the module proxy, at the versions of tools/go.mod.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

GO       ?= go
TOOL     := $(GO) tool -modfile=tools/go.mod
PKG      ?= ./...
FUZZTIME ?= 5s
RUN      ?= .
BENCH    ?= .
SEEDS    ?= 20000
SEED     ?= 1
KILLS    ?= 200

##@ Every day

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nVariables: PKG=./pkg/fsm (which packages), RUN=TestName (which tests), BENCH=Name, FUZZTIME=60s, SEEDS=20000\n'
	@printf 'First time here: README.md, then ARCHITECTURE.md ("Where to make which change").\n'

.PHONY: test
test: build lint unit mutants fuzz cdk-test aws-short ## All that CI runs: build, lint, unit tests, broken rules that must be noticed, a short run of every fuzz target, the AWS stack and a few scenarios on it
	@printf '\nmake test: everything passed\n'

.PHONY: build
build: ## Compile everything; the command line tool goes to bin/wovyr
	@printf '\n== build\n'
	$(GO) build ./...
	$(GO) build -o bin/ ./cmd/...

.PHONY: unit
unit: ## Unit tests, golden files and house rules (PKG, RUN)
	@printf '\n== unit tests\n'
	$(TOOL) gotestsum --format pkgname --post-run-command tools/closing-line.sh -- -run '$(RUN)' $(PKG)

.PHONY: lint
lint: ## Format, vet, static analysis (PKG)
	@printf '\n== lint\n'
	@unformatted=$$(gofmt -l $$(git ls-files --cached --others --exclude-standard '*.go')); \
	  test -z "$$unformatted" || { printf 'not formatted; run "make fmt":\n%s\n' "$$unformatted"; exit 1; }
	$(GO) vet $(PKG)
	$(TOOL) staticcheck $(PKG)

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w $$(git ls-files --cached --others --exclude-standard '*.go')

##@ AWS

.PHONY: cdk-test
cdk-test: ## The AWS stack: its template, rights and alarms (needs Node.js)
	@printf '\n== stack\n'
	cd infra/cdk && $(GO) vet ./... && JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION=1 $(GO) test ./...

.PHONY: aws-local
aws-local: ## Deploy the AWS platform to an emulator on this machine, by the real cdk (PORT, STACK); `localstack/aws-local.sh down` ends it
	localstack/aws-local.sh up

.PHONY: aws-local-test
aws-local-test: ## The same, then every scenario, then end it
	localstack/aws-local.sh test

.PHONY: aws-short
aws-short: ## The same with a few scenarios, on a port of its own
	@printf '\n== AWS platform on an emulator\n'
	PORT=4599 STACK=wovyr-short SHORT=1 localstack/aws-local.sh test

.PHONY: aws-chaos
aws-chaos: SEEDS := 3
aws-chaos: ## Deploy likewise, and run executions of all sorts under faults for two minutes each of SEEDS (3) seeds from SEED (1) on
	PORT=4598 STACK=wovyr-chaos localstack/aws-local.sh chaos -seed $(SEED) -seeds $(SEEDS) -minutes 2 -rate 0.15

.PHONY: localstack-test
localstack-test: ## Every scenario on a LocalStack that answers at AWS_ENDPOINT_URL (docs/local-aws.md)
	EMULATOR=localstack AWS_ENDPOINT_URL=$${AWS_ENDPOINT_URL:-http://127.0.0.1:4566} localstack/aws-local.sh test

##@ Deeper

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (5s); new targets are found by themselves
	@printf '\n== fuzz\n'
	@tools/fuzz.sh $(FUZZTIME) $(PKG)

.PHONY: mutants
mutants: ## Break each rule of the commit protocol in turn: the simulator must notice
	@printf '\n== mutants\n'
	$(GO) vet -tags mutants ./pkg/worker ./pkg/sim
	$(GO) test -tags mutants -run 'Mutants|RulesHold' ./pkg/sim

.PHONY: sim
sim: ## Simulate SEEDS seeds (20,000) under faults, from SEED (1) on
	$(GO) test ./pkg/sim -run 'TestSeeds$$' -v -timeout 0 -args -seeds $(SEEDS) -seed $(SEED)

.PHONY: aws-store
aws-store: ## All checks of the stores of AWS on an emulator, or on WOVYR_AWS_ENDPOINT (some minutes; make test makes fewer)
	$(GO) test ./pkg/eventstore/dynamodb ./pkg/eventstore/s3 -count 1 -timeout 0 -args -rapid.checks=100

.PHONY: chaos
chaos: ## Kill `wovyr run` KILLS times (200) in the middle, and `wovyr dev` a fifth as often, and go on
	$(GO) test ./cmd/wovyr -run TestKill -v -timeout 0 -args -kills $(KILLS)

.PHONY: bench
bench: ## Benchmarks with allocations (PKG, BENCH)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: bench-peers
bench-peers: ## The engine beside others on this machine (bench/peers/README.md): needs PostgreSQL, npm and 20 minutes
	$(GO) run ./bench/peers

.PHONY: bench-activities
bench-activities: ## What each kind of activity costs above the bare call, and scripts cold and warm
	$(GO) run ./bench/activities

.PHONY: bench-coldstart
bench-coldstart: ## How long the functions of the AWS platform take to start, and how large they are
	$(GO) run ./bench/coldstart

.PHONY: bench-waiting
bench-waiting: ## What 100,000 waiting executions cost: processor time, memory, restart
	$(GO) run ./bench/waiting

.PHONY: bench-aws
bench-aws: ## What executions cost on AWS, counted, and the latency model: the tables of docs/cost.md (some minutes)
	$(GO) test ./bench/aws -v -count 1 -timeout 0 -args -runs 5 -samples 1500

.PHONY: cover
cover: ## Coverage: bin/cover.html, and the total here (PKG)
	@mkdir -p bin
	$(GO) test -coverprofile bin/cover.out -coverpkg ./pkg/... $(PKG)
	$(GO) tool cover -html bin/cover.out -o bin/cover.html
	@$(GO) tool cover -func bin/cover.out | tail -n 1

.PHONY: race
race: ## Unit tests under the race detector (needs a C compiler)
	$(GO) test -race $(PKG)

.PHONY: golden
golden: ## Write golden files anew; look at `git diff` before you commit them
	tools/golden.sh

.PHONY: clean
clean: ## Remove bin/
	rm -rf bin
