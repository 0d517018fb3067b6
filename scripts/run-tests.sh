#!/usr/bin/env bash
# Runs `swift test` with the given options. Where tests fail, what they said comes once more at the
# end, before the runner's own closing line: among a thousand tests it is not to be found otherwise,
# and not at all where only the end of the output is kept.
#
# One test that never ends would keep all others from being judged. When nothing has been said for
# SILENCE_MAX seconds (900; no test waits for half of that) the tests are ended, and those that had
# begun are named.
set -uo pipefail

silence_max=${SILENCE_MAX:-900}
log=$(mktemp)
trap 'rm -f "$log" "$log.begun" "$log.ended"' EXIT

swift test "$@" > "$log" 2>&1 &
runner=$!
tail -n +1 -f --pid="$runner" "$log" &
shown=$!

size=-1 quiet=0 silent=
while kill -0 "$runner" 2>/dev/null; do
    sleep 1
    quiet=$((quiet + 1))
    now=$(stat -c %s "$log")
    if [ "$now" -ne "$size" ]; then size=$now quiet=0; fi
    if [ "$quiet" -ge "$silence_max" ]; then
        silent=1 quiet=0
        # The runner then writes what it still holds of their output, and ends by itself.
        pkill -KILL -P "$runner"
    fi
done
wait "$runner"
status=$?
wait "$shown"

# The tests that began more often than they ended.
unended() {
    sed -nE -e '/^. Test (run|case) /d' -e 's/^◇ Test (.+) started\.$/\1/p' "$log" |
        sort > "$log.begun"
    sed -nE -e '/^. Test run /d' \
        -e 's/^[✔✘] Test (.+) (passed|failed|skipped) after .*$/\1/p' "$log" |
        sed -E 's/ with [0-9]+ test cases?$//' | sort > "$log.ended"
    comm -23 "$log.begun" "$log.ended"
}

if [ "$status" -ne 0 ]; then
    echo
    echo "What failed:"
    # An issue's comment stands in the line behind it.
    said='recorded an issue|^error: |Fatal error|ERROR: [A-Za-z]+Sanitizer'
    grep -aE -A1 --no-group-separator "$said" "$log" |
        cut -c1-1500 | tail -n 20
    if [ -n "$silent" ]; then
        echo "Nothing was said for $silence_max s. These tests had begun and did not end:"
        unended
    fi
    grep -aE '^✘ Test run with|^✔ Test run with' "$log" | tail -n 1
fi
exit "$status"
