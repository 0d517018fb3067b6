#!/bin/sh
# What stores spend on devices and requests: Benchmarks/stores.sh BUILD_FOLDER. See README.md.
exec python3 -B "$(dirname "$0")/stores.py" "$@"
