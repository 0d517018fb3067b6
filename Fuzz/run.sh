#!/usr/bin/env bash
# Builds the fuzz targets and runs them:
#   Fuzz/run.sh SECONDS [TARGET...]    each for so long, from a new seed: a search
#   Fuzz/run.sh COUNTx [TARGET...]     each for so many inputs, from one seed: a test, which takes
#                                      the same inputs at each run of the same program
# Ends with 1 at the first finding; its input is left in Fuzz/.build/findings.
set -euo pipefail
cd "$(dirname "$0")"

case $1 in
    *x) length=(-runs="${1%x}" -seed=1) ;;
    *)
        length=(-max_total_time="$1")
        # Processor time of one input, the sanitizer and all; its checks read it many times.
        export FUZZ_MILLISECONDS_MAX=${FUZZ_MILLISECONDS_MAX:-250}
        ;;
esac
shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(ls Corpus)

log=.build/fuzz.log
mkdir -p .build/findings
# SwiftPM's own option leaves `main` to libFuzzer, the compiler's names both sanitizers. A kept
# manifest would not know of files that are new in the package beside this one.
if ! swift build --product fuzz --disable-build-manifest-caching \
    --sanitize=fuzzer -Xswiftc -sanitize=fuzzer,address >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
program=$(swift build --show-bin-path)/fuzz
# Swift's own crash report would wait for libFuzzer, and libFuzzer for it.
export SWIFT_BACKTRACE=enable=no

# The target of signatures uses Intel's library where the test command has installed it.
export LD_LIBRARY_PATH=$PWD/../.build/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# run TARGET FOLDER [ARGUMENT...]: what is found goes to the folder, what is learnt is forgotten.
# libFuzzer writes that to the first of the folders it is given, and only reads the others.
run() {
    local target=$1 findings=$2
    shift 2
    local learnt
    learnt=$(mktemp -d)
    local status=0
    FUZZ_TARGET=$target FUZZ_SEEDS=$learnt "$program" -artifact_prefix="$findings/$target-" \
        -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 "$learnt" "$@" >"$log" 2>&1 ||
        status=$?
    rm -rf "$learnt"
    return $status
}

# Four bytes behind four branches, and one that costs a MiB: who does not find these finds nothing.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
for target in canary glutton; do
    if run $target "$planted" -max_total_time=60 -max_len=16 -only_ascii=1 -use_value_profile=1
    then
        echo "fuzz: the $target was not found; is the code instrumented?" >&2
        exit 1
    fi
done

for target in "${targets[@]}"; do
    if ! run "$target" .build/findings "${length[@]}" "Corpus/$target"; then
        grep -A4 -E 'FINDING|Fatal error|ERROR|Test unit written' "$log" >&2 || tail -20 "$log" >&2
        echo "fuzz: $target: see Fuzz/.build/findings" >&2
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "fuzz: $target: ${runs:-?} inputs"
done
