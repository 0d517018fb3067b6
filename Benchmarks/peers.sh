#!/bin/sh
# Sallyport beside what else does its work: Benchmarks/peers.sh BUILD_FOLDER [--json FILE].
# See README.md.
exec python3 -B "$(dirname "$0")/peers.py" "$@"
