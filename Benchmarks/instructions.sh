#!/bin/sh
# Instructions of a request: Benchmarks/instructions.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/instructions.py" "$@"
