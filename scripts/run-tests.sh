#!/usr/bin/env bash
# Runs `swift test` with the given options. Without --filter or --skip, the tests run in four
# processes side by side: each has as many threads as there are processors, and most tests wait for
# other programs. The output of the others follows that of the first.
#
# Where tests fail, what they said comes once more at the end, before the runners' own closing
# lines: among a thousand tests it is not to be found otherwise, and not at all where only the end
# of the output is kept.
#
# Up to AGAIN_MAX tests (3; 0: none) that failed beside all others are run once more on their own.
# They are named even if they pass then: each is a defect, of the test or of the program, but a
# machine that was busy for a moment is no reason to refuse a change. Nothing is run again if more
# failed, or if a process ended early.
#
# BESIDE is a command that runs at the same time, while tests wait. Its output comes before the
# closing lines, and if it fails, so does the run.
#
# One test that never ends would keep all others from being judged. When a process has said nothing
# for SILENCE_MAX seconds (900; no test waits for half of that) its tests are ended, and those that
# had begun are named.
set -uo pipefail

silence_max=${SILENCE_MAX:-900}
again_max=${AGAIN_MAX:-3}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# run NAME OPTION...: runs tests with the output in a file, and returns their status.
run() {
    local log=$logs/$1 runner size=-1 quiet=0 now step=$((silence_max < 10 ? silence_max : 10))
    shift
    swift test --xunit-output "$log.xml" "$@" > "$log" 2>&1 &
    runner=$!
    while kill -0 "$runner" 2>/dev/null; do
        # A sleep that ends with the runner.
        timeout "$step" tail --pid="$runner" -f /dev/null
        quiet=$((quiet + step))
        now=$(stat -c %s "$log")
        if [ "$now" -ne "$size" ]; then size=$now quiet=0; fi
        if [ "$quiet" -ge "$silence_max" ]; then
            touch "$log.silent"
            quiet=0
            # The runner then writes what it still holds of their output, and ends by itself.
            pkill -KILL -P "$runner"
        fi
    done
    wait "$runner"
}

# The tests of a log that began more often than they ended.
unended() {
    sed -nE -e '/^. Test (run|case) /d' -e 's/^◇ Test (.+) started\.$/\1/p' "$1" |
        sort > "$1.begun"
    sed -nE -e '/^. Test run /d' \
        -e 's/^[✔✘] Test (.+) (passed|failed|skipped) after .*$/\1/p' "$1" |
        sed -E 's/ with [0-9]+ test cases?$//' | sort > "$1.ended"
    comm -23 "$1.begun" "$1.ended"
}

# What went wrong in a log whose tests failed.
failures() {
    # An issue's comment stands in the line behind it.
    local said='recorded an issue|^error: |Fatal error|ERROR: [A-Za-z]+Sanitizer'
    grep -aE -A1 --no-group-separator "$said" "$1" | cut -c1-1500 | tail -n 20
    if [ -e "$1.silent" ]; then
        echo "Nothing was said for $silence_max s. These tests had begun and did not end:"
        unended "$1"
    fi
}

# The tests of a log that failed, as patterns for --filter: `Module.Suite/function\(\)`, where a
# point between suites stands for a slash, too.
failed_tests() {
    grep -a -B1 '<failure' "$1-swift-testing.xml" |
        sed -nE 's/.*<testcase classname="([^"]*)" name="([^"]*)".*/\1\/\2/p' |
        sed -E -e 's/[()]/\\&/g' | sort -u
}

# The line with which the runner of a log closes.
closing_line() { grep -aE '^[✘✔] Test run with' "$1" | tail -n 1; }

# start NAME OPTION...: runs tests in the background.
start() {
    touch "$logs/$1"
    run "$@" &
    runners+=($!)
}

# Waits until the last tests that were started have begun: two runners that open the package's
# database at the same moment shut each other out.
await_begin() {
    until grep -qa 'Test run' "$logs/$1" || ! kill -0 "${runners[-1]}" 2>/dev/null; do
        sleep 0.2
    done
}

runners=()
case " $* " in
*' --filter '* | *' --skip '*)
    names=(first)
    start first "$@"
    ;;
*)
    names=(first second third fourth)
    # Parts of like length. What the package's own lock would keep apart does not build.
    start first --ignore-lock --filter '^(Client|KeyStore|Simulation)Tests\.' "$@"
    await_begin first
    start second --ignore-lock --filter '^RequestPathTests\.[A-P]' "$@"
    await_begin second
    start third --ignore-lock --filter '^RequestPathTests\.[^A-P]' "$@"
    await_begin third
    start fourth --ignore-lock --skip '^(RequestPath|Client|KeyStore|Simulation)Tests\.' "$@"
    ;;
esac
bash -c "${BESIDE:-true}" > "$logs/beside" 2>&1 &
beside=$!
tail -n +1 -f --pid="${runners[0]}" "$logs/first" &
shown=$!
status=0
for runner in "${runners[@]}"; do wait "$runner" || status=$?; done
wait "$shown"
for name in "${names[@]:1}"; do cat "$logs/$name"; done
beside_status=0
wait "$beside" || beside_status=$?
cat "$logs/beside"

if [ "$status" -ne 0 ] || [ "$beside_status" -ne 0 ]; then
    echo
    echo "What failed:"
    for name in "${names[@]}"; do failures "$logs/$name"; done
    if [ "$beside_status" -ne 0 ]; then tail -n 20 "$logs/beside"; fi
fi
for name in "${names[@]}"; do
    if [ "$status" -ne 0 ] || [ ${#names[@]} -gt 1 ]; then closing_line "$logs/$name"; fi
done
if [ "$beside_status" -ne 0 ]; then exit "$beside_status"; fi
if [ "$status" -eq 0 ] || [ ${#names[@]} -eq 1 ]; then exit "$status"; fi

again=()
for name in "${names[@]}"; do
    if [ -e "$logs/$name.silent" ]; then exit "$status"; fi
    if [ -z "$(closing_line "$logs/$name")" ]; then exit "$status"; fi
    mapfile -t -O "${#again[@]}" again < <(failed_tests "$logs/$name")
done
if [ ${#again[@]} -eq 0 ] || [ ${#again[@]} -gt "$again_max" ]; then exit "$status"; fi
echo
echo "Once more, on their own:"
printf '  %s\n' "${again[@]}"
options=()
for pattern in "${again[@]}"; do options+=(--filter "^$pattern"); done
run again "$@" --no-parallel "${options[@]}"
status=$?
cat "$logs/again"
if closing_line "$logs/again" | grep -qE 'with 0 tests'; then status=1; fi
if [ "$status" -eq 0 ]; then
    echo "Passed on their own, and failed beside all others: a defect to be mended."
    closing_line "$logs/again"
fi
exit "$status"
