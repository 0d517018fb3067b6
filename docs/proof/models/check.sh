#!/usr/bin/env bash
# Checks the models with spin: docs/proof/models/check.sh [FAULTS]
# Each protocol must stand, and each variant that lacks a part of it must fall. Then random ways
# through the models are held to the stores of the decision model.
set -euo pipefail
models=$(cd "$(dirname "$0")" && pwd)
faults=${1:-3}
# A short search takes less time than to compile it well.
optimized=-O$((faults > 2))
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints what spin found in a model with these definitions: `0` or `1`, and how many states it
# looked at.
explore() {
    local model=$1
    shift
    spin -a "$@" "$models/$model.pml" >spin.log || { cat spin.log >&2; exit 1; }
    gcc "$optimized" -DSAFETY -DCOLLAPSE -DVECTORSZ=512 -DMEMLIM=12000 -o pan pan.c
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

# Reads the parts of a model that are taken away, each with the world in which that must be seen.
falls() {
    local model=$1 lacking world violations states
    while read -r lacking world; do
        # shellcheck disable=SC2086
        read -r violations states < <(explore "$model" "-D$lacking" $world)
        if [ "$violations" = 1 ]; then
            echo "$model, $lacking: accepts what it must not, as it must ($states states)"
        else
            echo "$model, $lacking: no violation found; the model proves nothing" >&2
            return 1
        fi
    done
}

# Reads worlds in which a model must stand: a name, and what it is built with.
stands() {
    local model=$1 name world violations states
    while IFS=: read -r name world; do
        # shellcheck disable=SC2086
        read -r violations states < <(explore "$model" $world)
        if [ "$violations" = 0 ]; then
            echo "$model, $name: nothing is accepted that must not be ($states states)"
        else
            echo "$model, $name: something is accepted that must not be" >&2
            return 1
        fi
    done
}

incarnation() {
    falls incarnation <<END
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
    stands incarnation <<END
two servers, $faults faults:-DFAULTS=$faults
one server that also forgets in silence, $faults faults:-DSILENT -DSERVERS=1 -DFAULTS=$faults
two servers that also forget in silence, $((faults - 1)) faults:-DSILENT -DFAULTS=$((faults - 1))
one server, counters that only rise, $faults faults:-DSILENT -DSTRICT -DSERVERS=1 -DFAULTS=$faults
END
}

# One fault less where a fault is also a slot that moves.
cluster() {
    falls cluster <<END
NO_INCARNATION -DFAULTS=1
NO_EPOCH -DFAULTS=3
NO_SPEND -DFAULTS=1
GIVE_BACK -DFAULTS=1
END
    stands cluster <<END
two masters, $((faults - 1)) faults and moves of slots:-DFAULTS=$((faults - 1))
END
}

embedded() {
    falls embedded <<END
NO_INCARNATION -DFAULTS=1
NO_TOKEN -DFAULTS=3
NO_IDENTITY -DFAULTS=3
NO_BOOT -DFAULTS=2
NO_FLOORS -DSTRICT -DFAULTS=1
NO_REGISTRY -DSTRICT -DFAULTS=2
UNSETTLED -DSTRICT -DFAULTS=1
END
    # Each fault more takes ten times as long.
    local most=$((faults < 3 ? faults : 3))
    stands embedded <<END
one gateway, $most faults:-DFAULTS=$most
one gateway, counters that only rise, $most faults:-DSTRICT -DFAULTS=$most
END
}

# Side by side, each in a folder of its own.
declare -A running
for model in incarnation cluster embedded; do
    mkdir "$work/$model"
    (cd "$work/$model" && "$model") &
    running[$model]=$!
done
failed=0
for model in "${!running[@]}"; do wait "${running[$model]}" || failed=1; done
planted=()
if [ "$faults" -gt 2 ]; then planted=(--planted); fi
python3 -B "$models/../../../Tests/Assurance/model_traces.py" --count $((faults * 20)) \
    "${planted[@]}" || failed=1
exit $failed
