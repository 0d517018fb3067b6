#!/usr/bin/env bash
# Runs tests, and the programs that they start, under sanitizers: scripts/sanitize.sh [FILTER]
# SANITIZERS="address thread undefined" names those to run. Ends with 1 if a test fails, or if any
# process has written a report, whatever its test says. Without FILTER each EVERY-th (50)
# allocation of the libraries of C fails as well, under AddressSanitizer. Reports are left in
# .build/sanitize-NAME/reports.
set -euo pipefail
cd "$(dirname "$0")/.."

# Units, and the suites that start the program: what strangers and stores make it do. Most of them
# wait for other processes, and a process runs no more tests at once than there are processors, so
# several share them.
units='Bytes|CBOR|HTTP|ProxyProtocol|Telemetry|EventLoop|Crypto|HTTP2|TLS|HTTPSClient|JSON|YAML'
units+='|SQLite|Redis|AppAttest|Protobuf|Questions|OTLP|JWT|GatewayTokens|Judgement|Policy|Settings'
parts=("^($units|Simulation)Tests\." '^(KeyStore|Background|Gateway)Tests\.'
    '^RequestPathTests\.[A-G]' '^RequestPathTests\.[H-Z]')
if [ $# -gt 0 ]; then parts=("$1"); fi

# Instructions and allocations are those of a build that checks nothing, and valgrind runs no such
# program; a sanitizer needs more memory and system calls than limits and filters of tests allow; a
# process under a tracer is not looked through for leaks, and a sanitizer's shadow of terabytes
# cannot be searched for keys.
skipped='AllocationTests|InstructionTests|UnprovedCostTests|UnitFilterTests|MemoryReachTests'
skipped+='|MemorySearchTests|AllocationFailureTests'
# A fleet's weeks are figures that one thread works out in a quarter of an hour; what is installed
# runs the program for its help, again and again.
skipped+='|FleetAlarmTests|InstallationTests'
# These bound the memory of the program, or of its tables.
skipped+='|HTTP2FlowTests/(slowReader|hundredSlowReaders)|ProxyTests/(backPressure|streaming)'
skipped+='|MetricsTests/process|IdleConnectionTests|Embedded(Quota|Counters)Tests/memory'

# Everything takes several times as long.
export TEST_PATIENCE=${TEST_PATIENCE:-2}
# What is said of a test waits until all that were begun before it have ended.
export SILENCE_MAX=${SILENCE_MAX:-5400}
# Swift's own crash report would hide the sanitizer's.
export SWIFT_BACKTRACE=enable=no
lists=$PWD/Tests/Assurance/sanitizers

# options SANITIZER FOLDER: reports go to files in the folder, one a process.
options() {
    local common="log_path=$2/report:exitcode=66"
    case $1 in
        address)
            export ASAN_OPTIONS="$common:detect_leaks=1:suppressions=$lists/address.txt"
            export LSAN_OPTIONS="suppressions=$lists/leak.txt:print_suppressions=0"
            ;;
        thread) export TSAN_OPTIONS="$common:halt_on_error=0:suppressions=$lists/thread.txt" ;;
        # It traps: the compiler of Swift links none of its run-time libraries.
        undefined) ;;
        *)
            echo "sanitize: $1 is neither address, thread nor undefined" >&2
            exit 2
            ;;
    esac
}

# run_tests SKIPPED: all parts at once, and then what they have said, one after the other.
run_tests() {
    local status=0 index ids=()
    for index in "${!parts[@]}"; do
        scripts/run-tests.sh --skip-build --ignore-lock "${flags[@]}" --filter "${parts[$index]}" \
            --skip "$1" >"$scratch/tests-$index.log" 2>&1 &
        ids+=("$!")
    done
    for index in "${!parts[@]}"; do
        wait "${ids[$index]}" || status=1
        cat "$scratch/tests-$index.log"
    done
    return "$status"
}

# canary SANITIZER FAULT WORD: a planted fault must leave a report with that word.
canary() {
    rm -rf "$reports" && mkdir -p "$reports"
    "$scratch/canary" "$2" >/dev/null 2>&1 || true
    if ! grep -qs "$3" "$reports"/*; then
        echo "sanitize: $1 did not report the planted $2" >&2
        exit 1
    fi
}

status=0
for sanitizer in ${SANITIZERS:-address thread undefined}; do
    scratch=.build/sanitize-$sanitizer
    reports=$PWD/$scratch/reports
    flags=(--sanitize="$sanitizer")
    compiler=(-sanitize="$sanitizer")
    # Of Swift the compiler checks nothing so; of C it checks what the shims' headers define.
    if [ "$sanitizer" = undefined ]; then
        flags=(-Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined)
        compiler=("${flags[@]}")
    fi
    flags+=(--scratch-path "$scratch")
    mkdir -p "$scratch"
    options "$sanitizer" "$reports"

    swiftc "${compiler[@]}" -I "$lists/canary" -o "$scratch/canary" "$lists/canary/canary.swift" \
        2>"$scratch/canary.log" || { cat "$scratch/canary.log" >&2; exit 1; }
    case $sanitizer in
        address)
            canary address use-after-free heap-use-after-free
            canary address leak 'detected memory leaks'
            ;;
        # A race of plain memory, or of Swift's accesses to a variable: both are there.
        thread) canary thread race 'ThreadSanitizer: .*race' ;;
        undefined)
            if "$scratch/canary" overflow >/dev/null 2>&1; then
                echo "sanitize: the planted overflow did not trap" >&2
                exit 1
            fi
            ;;
    esac
    # A release runs without these checks, so a debug build has to have them.
    if "$scratch/canary" overlap >"$scratch/canary.log" 2>&1 ||
        ! grep -q 'Simultaneous accesses' "$scratch/canary.log"; then
        echo "sanitize: overlapping accesses do not trap in a debug build" >&2
        exit 1
    fi

    swift build --build-tests "${flags[@]}" --explicit-target-dependency-import-check error
    rm -rf "$reports" && mkdir -p "$reports"
    # The simulation has one thread.
    run_tests "$skipped$([ "$sanitizer" != thread ] || echo '|^SimulationTests\.')" || status=1

    # It counts what leaks by itself, at each failure.
    if [ "$sanitizer" = address ] && [ $# -eq 0 ]; then
        ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "$scratch/debug/AllocationFailures" \
            --every "${EVERY:-50}" || status=1
    fi

    for report in "$reports"/*; do
        [ -e "$report" ] || break
        echo "sanitize: $report"
        grep -A12 -m1 -E 'ERROR|WARNING' "$report" || head -12 "$report"
        status=1
    done
    echo "sanitize: $sanitizer: $(find "$reports" -type f | wc -l) reports"
done
exit "$status"
