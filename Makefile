# The tasks of this repository. `make` alone lists them.
SWIFT_FLAGS := --explicit-target-dependency-import-check error
# --static-swift-stdlib: the program needs no Swift on the machine it runs on.
# --disable-local-rpath: libraries come from the system, never from the program's folder.
# -enforce-exclusivity=unchecked: no look-up for each access to an object's property. The debug build,
#   with which every test runs, keeps these checks. -Ounchecked would drop bounds and overflow checks.
# -cross-module-optimization: 3 % fewer instructions per exchange.
# -function-sections: a function that is never called is left out.
# pack-relative-relocs: relocations take 10 KB instead of 1.1 MB, and need glibc 2.36.
# relro, now: the linker's tables are read-only once the program runs.
# Unwind tables stay: a debugger needs them to read a core dump.
# --exclude-libs, --no-export-dynamic: the program exports no functions, which saves 1.1 MB.
RELEASE_FLAGS := -c release --static-swift-stdlib --disable-local-rpath $(SWIFT_FLAGS) \
	-Xswiftc -enforce-exclusivity=unchecked -Xswiftc -cross-module-optimization \
	-Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld \
	-Xlinker -z -Xlinker pack-relative-relocs \
	-Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now \
	-Xlinker --exclude-libs -Xlinker ALL -Xlinker --no-export-dynamic
RELEASE := .build/release
SWIFT_SOURCES := Package.swift Sources Tests clients Fuzz/Package.swift Fuzz/Sources Fuzz/Targets

.PHONY: help build demo test lint format fuzz models cluster-model simulation decision-model \
	gateway-mutants faults second-verifier unit-filter sanitize allocation-failures coverage \
	bench bench-bodies bench-first bench-h2 bench-keys bench-latency bench-overload bench-peers \
	bench-proxies bench-stores bench-streams bench-tls bench-workers fleet idle soak soak-mix \
	screenshots site deb image sbom dist package-test clean

help:
	@echo 'make demo          build, then watch simulated devices enrol, sign and be refused'
	@echo 'make demo KEEP=1   the same, then leave everything running to be tried by hand'
	@echo 'make test          install what is needed, lint, build and run every test'
	@echo 'make build         optimised commands, in $(RELEASE)'
	@echo 'make lint          what the formatter finds; make format lets it mend that'
	@echo 'make fuzz          each parser under libFuzzer for SECONDS=10 (TARGETS="a b" for some)'
	@echo 'make models        what counters survive, under spin (FAULTS=4)'
	@echo 'make cluster-model the model of a Cluster beside real servers, on COUNT=100 ways (SEED=1)'
	@echo 'make simulation    gateways, store and network from SEEDS=5000 seeds'
	@echo 'make decision-model   histories played against a model in Python, COUNT=400 REDIS=200 (SEED=1)'
	@echo 'make gateway-mutants   comparisons of the gateway turned, MUTANTS="3 17" for some (an hour)'
	@echo 'make faults        real stores killed, split and cut off, SECONDS=120 a scenario (SEED=1)'
	@echo 'make second-verifier   a verifier in Python beside ours, COUNT=5000 mutations (SEED=1)'
	@echo 'make unit-filter   tests of the program under the system call filter of its unit'
	@echo 'make sanitize      tests and programs under sanitizers, FILTER=... for some (an hour)'
	@echo 'make allocation-failures   libraries without memory, at each EVERY=10th allocation'
	@echo 'make coverage      lines and regions that tests run, FILTER=... for some (half an hour)'
	@echo 'make bench         throughput and latency beside other proxies and other ways to verify, as'
	@echo '                   tables, JSON and charts (.build/bench); instructions a request against'
	@echo '                   their budgets; overload, and the formula for capacity (about 14 minutes)'
	@echo 'make bench-proxies requests per second beside nginx and HAProxy (about 2 minutes)'
	@echo 'make bench-h2      the same for HTTP/2, in clear text and over TLS (about 2 minutes)'
	@echo 'make bench-first   first requests of keys beside later ones (about 3 minutes)'
	@echo 'make bench-latency latencies beside nginx, at a fixed rate (about a minute)'
	@echo 'make bench-overload  three times the capacity, by clients that give up (about 2 minutes)'
	@echo 'make bench-bodies  bodies of 64 KiB and 100 MiB beside nginx, both ways (about 3 minutes)'
	@echo 'make bench-streams event streams beside nginx, with and without a quota (about 2 minutes)'
	@echo 'make bench-tls     TLS handshakes, resumed ones, and idle connections beside nginx'
	@echo 'make bench-workers two workers beside one (about a minute)'
	@echo 'make bench-peers   beside other proxies and other ways to verify (about 3 minutes)'
	@echo 'make bench-keys    KEYS=10000000 keys in each store beside a tenth of them (an hour)'
	@echo 'make bench-stores  what Redis and PostgreSQL spend on devices and requests'
	@echo 'make fleet         what to buy for 100,000 to 100 million devices: tables and charts'
	@echo 'make idle          memory of 10,000 idle connections beside nginx and HAProxy'
	@echo 'make soak          10 minutes of load, a 1 GiB answer, a million keys (SECONDS=n)'
	@echo 'make soak-mix      two gateways with clients of each kind, stores that fail, SECONDS=300'
	@echo 'make screenshots   the pictures of the status page, in docs/images'
	@echo 'make site          these pages as a website with a search, in .build/site/html'
	@echo 'make deb           a Debian package, in dist'
	@echo 'make image         an OCI image of that package, in dist'
	@echo 'make sbom          what the program is made of, as CycloneDX, in dist'
	@echo 'make dist          all of these, an archive and SHA256SUMS, in dist'
	@echo 'make package-test  install, run, upgrade and remove the package; run the image (root)'
	@echo 'make clean         remove what was built'

# Two SwiftPM runs never share a build directory at once, so tasks are not run in parallel.
.NOTPARALLEL:

build:
	@scripts/install.sh build
	swift build $(RELEASE_FLAGS)

demo:
	@scripts/install.sh demo
	swift build $(RELEASE_FLAGS)
	@demo/run.sh $(RELEASE) $(if $(KEEP),--keep)

test:
	@scripts/install.sh test
	swift format lint --strict --recursive --parallel $(SWIFT_SOURCES)
	swift build --build-tests $(SWIFT_FLAGS)
	@BESIDE='docs/proof/models/check.sh 2 && Fuzz/run.sh 2000x' \
		scripts/run-tests.sh --skip-build --parallel $(SWIFT_FLAGS)

screenshots:
	@scripts/install.sh screenshots
	swift build $(SWIFT_FLAGS)
	@scripts/screenshots.sh .build/debug

fuzz:
	@scripts/install.sh build
	@Fuzz/run.sh $(or $(SECONDS),10) $(TARGETS)

models:
	@scripts/install.sh models
	@docs/proof/models/check.sh $(or $(FAULTS),4)

cluster-model:
	@scripts/install.sh test
	swift build --build-tests $(SWIFT_FLAGS)
	CLUSTER_WAYS=$(or $(COUNT),100) CLUSTER_SEED=$(or $(SEED),1) \
		swift test --skip-build --filter ClusterModelTests

simulation:
	@scripts/install.sh build
	swift build --build-tests $(SWIFT_FLAGS)
	SIMULATION_SEEDS=$(or $(SEEDS),5000) swift test --skip-build --filter SimulationTests

decision-model:
	@scripts/install.sh test
	swift build --build-tests $(SWIFT_FLAGS)
	@rm -rf .build/decisions && mkdir -p .build/decisions
	DECISION_HISTORIES=$(or $(COUNT),400) DECISION_REDIS_HISTORIES=$(or $(REDIS),200) \
		DECISION_SEED=$(or $(SEED),1) \
		DECISION_FOLDER=$(CURDIR)/.build/decisions \
		swift test --skip-build --filter DecisionModelTests.agreement
	@python3 -B Tests/Assurance/decision_model.py .build/decisions
	@python3 -B Tests/Assurance/model_mutants.py --allowed 4 .build/decisions

gateway-mutants:
	@scripts/install.sh test
	@python3 -B Tests/Assurance/gateway_mutants.py $(MUTANTS)

faults:
	@scripts/install.sh test
	swift build --build-tests $(SWIFT_FLAGS)
	FAULT_SECONDS=$(or $(SECONDS),120) FAULT_SEED=$(or $(SEED),1) \
		swift test --skip-build --filter '^FaultTests\.'

second-verifier:
	@scripts/install.sh test
	swift build $(SWIFT_FLAGS)
	@python3 Tests/Assurance/compare.py --count $(or $(COUNT),5000) --seed $(or $(SEED),1) \
		$(addprefix --vectors ,$(wildcard ../shared/vectors))

unit-filter:
	@scripts/install.sh test
	swift build --build-tests $(SWIFT_FLAGS)
	GATEWAY_LAUNCHER="/usr/bin/python3 -B $(CURDIR)/Tests/Assurance/unit_filter.py \
		$(CURDIR)/deploy/sallyport.service" \
		swift test --skip-build --filter '^(RequestPath|Fault)Tests\.' \
		--skip 'AllocationTests|InstructionTests|UnprovedCostTests|UpgradeTests/(refusal|vanished)'

sanitize:
	@scripts/install.sh test
	@scripts/sanitize.sh $(if $(FILTER),'$(FILTER)')

allocation-failures:
	@scripts/install.sh test
	swift build --product AllocationFailures $(SWIFT_FLAGS)
	@SWIFT_BACKTRACE=enable=no .build/debug/AllocationFailures --every $(or $(EVERY),10)

coverage:
	@scripts/install.sh test
	@scripts/coverage.sh $(if $(FILTER),'$(FILTER)')

lint:
	swift format lint --strict --recursive --parallel $(SWIFT_SOURCES)

format:
	swift format --in-place --recursive --parallel $(SWIFT_SOURCES)

bench:
	@scripts/install.sh bench peers
	swift build $(RELEASE_FLAGS)
	@Benchmarks/bench.sh $(RELEASE)
	@Benchmarks/latency.sh $(RELEASE)
	@Benchmarks/overload.sh $(RELEASE)
	@Benchmarks/peers.sh $(RELEASE)
	@Benchmarks/instructions.sh $(RELEASE) --budget
	@Benchmarks/capacity.sh $(RELEASE)

bench-proxies:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@Benchmarks/bench.sh $(RELEASE)

bench-h2:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@Benchmarks/h2.sh $(RELEASE)

bench-bodies bench-first bench-latency bench-overload bench-streams bench-tls bench-workers:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@Benchmarks/$(@:bench-%=%).sh $(RELEASE)

bench-peers:
	@scripts/install.sh peers
	swift build $(RELEASE_FLAGS)
	@Benchmarks/peers.sh $(RELEASE)

bench-keys:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@KEYS=$(or $(KEYS),10000000) Benchmarks/keys.sh $(RELEASE)

bench-stores:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@Benchmarks/stores.sh $(RELEASE)

fleet:
	@python3 -B Benchmarks/fleet.py --plots docs/images

idle:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@Benchmarks/idle.sh $(RELEASE)

soak:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@SECONDS_OF_LOAD=$(or $(SECONDS),600) Benchmarks/soak.sh $(RELEASE)

soak-mix:
	@scripts/install.sh bench
	swift build $(RELEASE_FLAGS)
	@MIX_SECONDS=$(or $(SECONDS),300) MIX_SEED=$(or $(SEED),1) \
		/usr/bin/python3 -B Benchmarks/soak/mix.py $(RELEASE)

site:
	@scripts/install.sh site
	@scripts/site.sh .build/site/html
	@echo .build/site/html/index.html

deb:
	@scripts/install.sh deb
	swift build $(RELEASE_FLAGS) --product sallyport
	@scripts/package.sh $(RELEASE)/sallyport dist

image:
	@scripts/install.sh image
	swift build $(RELEASE_FLAGS) --product sallyport
	@scripts/image.sh "$$(scripts/package.sh $(RELEASE)/sallyport dist)" dist

sbom:
	@scripts/install.sh build
	swift build $(RELEASE_FLAGS) --product sallyport
	@mkdir -p dist
	@scripts/sbom.sh $(RELEASE)/sallyport > dist/sallyport.cdx.json
	@echo dist/sallyport.cdx.json

dist:
	@scripts/install.sh image
	swift build $(RELEASE_FLAGS) --product sallyport
	@scripts/dist.sh $(RELEASE)/sallyport dist

package-test:
	@scripts/install.sh package-test
	swift build $(RELEASE_FLAGS)
	@scripts/package-test.sh $(RELEASE)/sallyport
	@scripts/image-test.sh "$$(scripts/package.sh $(RELEASE)/sallyport dist)"

clean:
	swift package clean
	rm -rf Fuzz/.build dist
