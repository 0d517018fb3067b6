#!/bin/sh
# Requests per second beside nginx and HAProxy: Benchmarks/bench.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/bench.py" "$@"
