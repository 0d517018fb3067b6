#!/bin/sh
# Memory under load: Benchmarks/soak.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/soak.py" "$@"
