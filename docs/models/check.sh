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
# A part that is taken away, and the world in which that must be seen.
while read -r lacking world; do
    # shellcheck disable=SC2086
    read -r violations states < <(explore "-D$lacking" $world)
    if [ "$violations" = 1 ]; then
        echo "incarnation, $lacking: accepts twice, as it must ($states states)"
    else
        echo "incarnation, $lacking: no violation found; the model proves nothing" >&2
        failed=1
    fi
done <<END
NO_INCARNATION -DFAULTS=3
NO_HISTORY -DFAULTS=3
HISTORY_AT_START -DFAULTS=3
NO_PROCESS -DFAULTS=3
NO_STATISTICS -DSILENT -DSERVERS=1 -DFAULTS=1
NO_NOTED -DSILENT -DSERVERS=1 -DFAULTS=1
NO_CLOCK -DSILENT -DSERVERS=1 -DFAULTS=1
NO_AGE -DSILENT -DSERVERS=1 -DFAULTS=1
NO_FLOORS -DSTRICT -DSERVERS=1 -DFAULTS=2
FLOOR_AT_REPLY -DSTRICT -DSERVERS=1 -DFAULTS=2
END
while IFS=: read -r name world; do
    # shellcheck disable=SC2086
    read -r violations states < <(explore $world)
    if [ "$violations" = 0 ]; then
        echo "incarnation, $name: nothing is accepted twice ($states states)"
    else
        echo "incarnation, $name: something is accepted twice" >&2
        failed=1
    fi
done <<END
two servers, $faults faults:-DFAULTS=$faults
one server that also forgets in silence, $faults faults:-DSILENT -DSERVERS=1 -DFAULTS=$faults
two servers that also forget in silence, $((faults - 1)) faults:-DSILENT -DFAULTS=$((faults - 1))
one server, counters that only rise, $faults faults:-DSILENT -DSTRICT -DSERVERS=1 -DFAULTS=$faults
END
exit $failed
