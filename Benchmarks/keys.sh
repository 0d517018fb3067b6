#!/bin/sh
# A registry of ten million keys beside one of a million: Benchmarks/keys.sh BUILD_FOLDER. See
# README.md.
exec python3 -B "$(dirname "$0")/keys.py" "$@"
