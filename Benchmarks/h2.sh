#!/bin/sh
# HTTP/2 beside nginx and HAProxy: Benchmarks/h2.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/h2.py" "$@"
