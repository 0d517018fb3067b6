#!/usr/bin/env bash
# Measures which code the tests run: scripts/coverage.sh [FILTER]
# Prints lines and regions of each target, and ends with 1 if a function that no test runs is not in
# Tests/Coverage/uncovered.txt. With FILTER only those tests run, and nothing is compared with the
# list. The programs that tests start count too, unless they are killed.
set -euo pipefail
cd "$(dirname "$0")/.."
filter=${1:-}
scratch=.build/coverage
options=(--enable-code-coverage --scratch-path "$scratch")

# Instructions and allocations are those of a build that counts nothing; and a program that cannot
# write its counts says so, where these tests expect its own words alone.
skipped='AllocationTests|InstructionTests|UnprovedCostTests|StoreRegistryTests/readOnly'

swift build --build-tests "${options[@]}" --explicit-target-dependency-import-check error
folder=$(swift build --show-bin-path --scratch-path "$scratch")
rm -rf "$folder/codecov"
status=0
scripts/run-tests.sh --skip-build --parallel "${options[@]}" --skip "$skipped" \
    ${filter:+--filter "$filter"} || status=$?

# The compiler's own tools: another version does not read what its programs write.
tools=$(dirname "$(realpath "$(command -v swift)")")
find "$folder/codecov" -name '*.profraw' > "$scratch/profiles"
"$tools/llvm-profdata" merge -sparse -f "$scratch/profiles" -o "$scratch/tests.profdata"
(cd "$folder" && "$tools/llvm-cov" export -instr-profile ../../tests.profdata sallyport \
    -object sallyport-lab -object sallyportPackageTests.xctest \
    -ignore-filename-regex '/(Tests|Fuzz|clients|\.build)/') > "$scratch/coverage.json"
rm -rf "$folder/codecov"
python3 -B scripts/coverage.py ${filter:+--no-list} "$scratch/coverage.json" \
    Tests/Coverage/uncovered.txt || status=$?
exit "$status"
