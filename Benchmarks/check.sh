#!/bin/sh
# A check beside a proxy, and proxying behind it: Benchmarks/check.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/check.py" "$@"
