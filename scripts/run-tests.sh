#!/usr/bin/env bash
# Runs `swift test` with the given options. Where tests fail, what they said comes once more at the
# end, before the runner's own closing line: among a thousand tests it is not to be found otherwise,
# and not at all where only the end of the output is kept.
set -uo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
    echo
    echo "What failed:"
    # An issue's comment stands in the line behind it.
    grep -aE -A1 --no-group-separator 'recorded an issue|^error: |Fatal error' "$log" |
        cut -c1-1500 | tail -n 20
    grep -aE '^✘ Test run with|^✔ Test run with' "$log" | tail -n 1
fi
exit "$status"
