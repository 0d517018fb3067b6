#!/usr/bin/env bash
# Makes a Debian package of a built `sallyport`: scripts/package.sh PROGRAM DIRECTORY
# The same program and the same commit make the same bytes if both times MkDocs is installed or both
# times not. REVISION is the Debian revision.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
directory=$(realpath "$2")
cd "$(dirname "$0")/.."

if ! hardening=$(scripts/hardening.sh "$program"); then
    printf 'package: %s is not hardened: make it with make build\n%s\n' "$1" "$hardening" >&2
    exit 1
fi
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null ||
    stat -c %Y CHANGELOG.md)}
# The program is linked with the libraries of this release of Debian.
release=$(. /etc/os-release && echo "$VERSION_ID")
version=$("$program" version | cut -d' ' -f2)-${REVISION:-1}~deb$release

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# dh writes the package beside its source.
source=$work/sallyport
mkdir "$source"
cp -r deploy/debian "$source/debian"
cp CHANGELOG.md "$source"
scripts/tree.sh "$program" "$source"
if [ -e .build/site/python/requirements.txt ]; then
    scripts/site.sh "$source/usr/share/doc/sallyport/html"
else
    echo "package: without the website of the pages: scripts/install.sh deb did not get MkDocs" >&2
fi
for part in service socket tmpfiles logrotate; do
    sed 's#/usr/local/bin/#/usr/bin/#' "deploy/sallyport.$part" > "$source/debian/sallyport.$part"
done
cat > "$source/debian/changelog" <<TEXT
sallyport ($version) stable; urgency=medium

  * What has changed is in changelog.gz.

 -- $(sed -n 's/^Maintainer: //p' deploy/debian/control)  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
TEXT

(cd "$source" && debian/rules binary >"$work/log" 2>&1) || { cat "$work/log" >&2; exit 1; }
mv "$work"/*.deb "$directory"
ls "$directory"/sallyport_"$version"_*.deb
