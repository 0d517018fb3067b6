#!/usr/bin/env bash
# Makes everything that a release consists of from a built `sallyport`:
# scripts/dist.sh PROGRAM DIRECTORY
# RELEASE_KEY is the file of the private key that signs the checksums, if they shall be signed.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
directory=$(realpath "$2")
cd "$(dirname "$0")/.."

export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat -c %Y CHANGELOG.md)}
package=$(scripts/package.sh "$program" "$directory")
image=$(scripts/image.sh "$package" "$directory")
base=$(basename "$image" .oci.tar)
scripts/sbom.sh "$program" > "$directory/$base.cdx.json"

# For other distributions: the files of the package, below one directory.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dpkg-deb -x "$package" "$work/$base"
if [ ! -e "$work/$base/usr/share/doc/sallyport/html" ]; then
    echo "dist: no release lacks the website of the pages, as this package does" >&2
    exit 1
fi
cp LICENSE README.md CHANGELOG.md "$work/$base"
tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --format=gnu -cf - "$base" | gzip -n9 > "$directory/$base.tar.gz"

cd "$directory"
files=("$(basename "$package")" "$base.oci.tar" "$base.cdx.json" "$base.tar.gz")
sha256sum "${files[@]}" > SHA256SUMS
ls -l "${files[@]}" SHA256SUMS
cd - > /dev/null
if [ -n "${RELEASE_KEY:-}" ]; then
    scripts/sign.sh "$RELEASE_KEY" "$directory"
else
    echo "dist: SHA256SUMS is not signed: RELEASE_KEY names no key" >&2
fi
