#!/bin/sh
# What the formula for capacity says, beside what is: Benchmarks/capacity.sh BUILD_FOLDER.
exec python3 -B "$(dirname "$0")/capacity.py" "$@"
