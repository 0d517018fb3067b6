#!/bin/sh
# Two workers beside one: Benchmarks/workers.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/workers.py" "$@"
