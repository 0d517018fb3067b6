#!/bin/sh
# Bodies of verified requests beside nginx: Benchmarks/bodies.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/bodies.py" "$@"
