#!/usr/bin/env bash
# Takes the pictures of the status page that README shows: scripts/screenshots.sh BUILD_FOLDER.
# The gateway, its refusals and its routes are the demo's; the counts of the last hour are made up.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
images=${IMAGES:-$here/../docs/images}
mkdir -p "$images"
# Debian's own Python has the packages that Debian has.
"$here/../demo/run.sh" "$1" --then bash -c '/usr/bin/python3 "$0" "$2" "$1"' \
    "$here/screenshots.py" "$images"
for image in "$images"/status-*.png; do
    # Fewer colours, and a third of the size.
    pngquant --force --skip-if-larger --output "$image" --quality 60-95 "$image" || true
    stat --format '%n %s bytes' "$image"
done
