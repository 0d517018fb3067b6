# What the scripts that try out an installation share; they source this file.
# $work is a directory of theirs, and on_failure a command that shows more.

ok() { echo "ok  $1"; }

fail() {
    echo "FAILED  $1" >&2
    on_failure || true
    exit 1
}

# Says what holds if the command succeeds; otherwise shows what it said, and ends.
expect() {
    local what=$1
    shift
    if "$@" > "$work/said" 2>&1; then
        ok "$what"
    else
        cat "$work/said" >&2
        fail "$what"
    fi
}

# Tries the command until it succeeds, for half a minute.
eventually() {
    local attempt
    for attempt in {1..300}; do
        if "$@" > /dev/null 2>&1; then return; fi
        sleep 0.1
    done
    "$@"
}
