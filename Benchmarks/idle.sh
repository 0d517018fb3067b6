#!/bin/sh
# Memory of idle connections: Benchmarks/idle.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/idle.py" "$@"
