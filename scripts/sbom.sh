#!/usr/bin/env bash
# Prints what a built `sallyport` is made of, as CycloneDX: scripts/sbom.sh PROGRAM
# The Swift library is linked into it; everything else it loads from packages of this machine.
set -euo pipefail
program=$1
epoch=${SOURCE_DATE_EPOCH:-$(date +%s)}
version=$("$program" version | cut -d' ' -f2)
architecture=$(dpkg --print-architecture)
release=$(. /etc/os-release && echo "$ID-$VERSION_ID")
swift=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9.]+).*/\1/p' | head -n 1)

# The packages whose libraries the program names.
packages() {
    local library path
    readelf -d "$program" | sed -nE 's/.*\(NEEDED\).*\[(.+)\]/\1/p' | while read -r library; do
        path=$(ldd "$program" | awk -v name="$library" '$1 == name && $2 == "=>" { print $3 }')
        # Packages name their files below /lib or /usr/lib, which are one.
        if [ -n "$path" ]; then dpkg -S "*/${path#/*lib/}"; fi
    done | cut -d: -f1 | sort -u
}

licence() {
    case "$1" in
        libc6) echo LGPL-2.1-or-later ;;
        libcurl4) echo curl ;;
        libevent* | libhiredis*) echo BSD-3-Clause ;;
        libgcc* | libstdc++*) echo 'GPL-3.0-or-later WITH GCC-exception-3.1' ;;
        libjansson* | libnghttp2* | libyaml*) echo MIT ;;
        libpq5) echo PostgreSQL ;;
        libsqlite3*) echo blessing ;;
        libssl3) echo Apache-2.0 ;;
        *)
            echo "sbom: $1: name its licence in scripts/sbom.sh" >&2
            return 1
            ;;
    esac
}

own=pkg:generic/sallyport@$version
standard_library="pkg:generic/swift-standard-library@$swift"
components="{\"type\":\"library\",\"bom-ref\":\"$standard_library\",
\"name\":\"swift-standard-library\",\"version\":\"$swift\",
\"licenses\":[{\"expression\":\"Apache-2.0 WITH Swift-exception\"}]}"
references="\"$standard_library\""
for package in $(packages); do
    installed=$(dpkg-query -W -f '${Version}' "$package")
    # A package URL has these two in percent.
    url=pkg:deb/debian/${package//+/%2B}@$(sed -e 's/:/%3A/g' -e 's/+/%2B/g' <<< "$installed")
    url="$url?arch=$architecture&distro=$release"
    components+=",{\"type\":\"library\",\"bom-ref\":\"$url\",\"name\":\"$package\",
\"version\":\"$installed\",\"purl\":\"$url\",
\"licenses\":[{\"expression\":\"$(licence "$package")\"}]}"
    references+=",\"$url\""
done

cat <<JSON
{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,
"metadata":{"timestamp":"$(date -u -d "@$epoch" +%FT%TZ)",
"component":{"type":"application","bom-ref":"$own","name":"sallyport","version":"$version",
"licenses":[{"expression":"Apache-2.0"}],"purl":"$own",
"hashes":[{"alg":"SHA-256","content":"$(sha256sum "$program" | cut -d' ' -f1)"}]}},
"components":[$components],
"dependencies":[{"ref":"$own","dependsOn":[$references]}]}
JSON
