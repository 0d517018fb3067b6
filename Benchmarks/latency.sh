#!/bin/sh
# Latencies at half load beside nginx: Benchmarks/latency.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/latency.py" "$@"
