#!/bin/sh
# Requests answered in time under overload by clients that give up: Benchmarks/overload.sh
# BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/overload.py" "$@"
