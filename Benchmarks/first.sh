#!/bin/sh
# What the first request of a key costs: Benchmarks/first.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/first.py" "$@"
