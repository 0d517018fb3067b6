#!/bin/sh
# What event streams cost, and how late their events are: Benchmarks/streams.sh BUILD_FOLDER. See
# README.md.
exec python3 -B "$(dirname "$0")/streams.py" "$@"
