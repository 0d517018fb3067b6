#!/usr/bin/env bash
# Checks the models with spin: docs/models/check.sh [FAULTS]
# The protocol must stand, and each variant that lacks a part of it must fall.
set -euo pipefail
models=$(cd "$(dirname "$0")" && pwd)
faults=${1:-3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Prints what spin found with these definitions: `0` or `1`, and how many states it looked at.
explore() {
    spin -a "$@" "$models/incarnation.pml" >spin.log || { cat spin.log >&2; exit 1; }
    gcc -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=512 -DMEMLIM=12000 -o pan pan.c
    ./pan -n -m100000 >pan.log
    # A search that ended early, for memory or depth, has proved nothing.
    if grep -Eq 'max search depth too small|out of memory|Search not completed' pan.log &&
        grep -q 'errors: 0' pan.log; then
        cat pan.log >&2
        exit 1
    fi
    if grep -q 'assertion violated' pan.log; then echo -n 1; else
        grep -q 'errors: 0' pan.log || { cat pan.log >&2; exit 1; }
        echo -n 0
    fi
    awk '/states, stored/ { print " " $1 }' pan.log
}

failed=0
for lacking in NO_INCARNATION NO_HISTORY HISTORY_AT_START NO_PROCESS; do
    read -r violations states < <(explore -D$lacking -DFAULTS=3)
    if [ "$violations" = 1 ]; then
        echo "incarnation, $lacking: accepts twice, as it must ($states states)"
    else
        echo "incarnation, $lacking: no violation found; the model proves nothing" >&2
        failed=1
    fi
done
read -r violations states < <(explore -DFAULTS="$faults")
if [ "$violations" = 0 ]; then
    echo "incarnation: nothing is accepted twice, with up to $faults faults ($states states)"
else
    echo "incarnation: something is accepted twice" >&2
    failed=1
fi
exit $failed
