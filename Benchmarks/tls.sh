#!/bin/sh
# TLS beside nginx: Benchmarks/tls.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/tls.py" "$@"
