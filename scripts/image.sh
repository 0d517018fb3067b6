#!/usr/bin/env bash
# Makes an OCI image of a Debian package that scripts/package.sh made:
# scripts/image.sh PACKAGE DIRECTORY
# It holds the program, the libraries that the package depends on, and nothing else: no shell, no
# package manager. `docker load`, `podman load` and `skopeo copy oci-archive:...` take the file.
# Needs root, because the files of an image have owners.
set -euo pipefail
if [ "$(id -u)" -ne 0 ]; then
    echo "image: run it as root: the files of an image have owners" >&2
    exit 1
fi
package=$(realpath "$1")
mkdir -p "$2"
directory=$(realpath "$2")
cd "$(dirname "$0")/.."

name=sallyport
# Numbers, because Kubernetes compares no names. They are beyond those that Debian gives users.
user=64100
architecture=$(dpkg-deb -f "$package" Architecture)
version=$(dpkg-deb -f "$package" Version)
upstream=${version%%-*}
# When the package was made, as its control archive says.
epoch=$(date -d "$(dpkg-deb --ctrl-tarfile "$package" | tar tv --full-time --utc ./control |
    awk '{ print $4, $5, "UTC" }')" +%s)
created=$(date -u -d "@$epoch" +%FT%TZ)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

# systemd makes the user of a package, and ends as many processes as it starts; a container has
# one process, and its user from here.
mapfile -t libraries < <(dpkg-deb -f "$package" Depends | tr ',' '\n' |
    sed -E 's/^ *([^ ]+).*$/\1/' | grep -v '^systemd$')
scripts/debian-root.sh extract "$root" "${libraries[@]}"

# What the maintainer script of ca-certificates would do.
(cd "$root/usr/share/ca-certificates" && find . -name '*.crt' -printf '%P\n' | sort) \
    > "$root/etc/ca-certificates.conf"
update-ca-certificates --sysroot "$root" --fresh > /dev/null

# Of the packages only libraries, certificates and licences are of use.
find "$root/usr/share/doc" -mindepth 1 ! -type d ! -name copyright -delete
find "$root/usr/share/doc" -mindepth 1 -type d -empty -delete
for path in bin sbin games share/{bash-completion,debconf,gcc,gdb,lintian,locale,man,perl5,pixmaps}
do
    rm -rf "${root:?}/usr/$path"
done
find "$root/dev" "$root/tmp" "$root/run" "$root/var/cache" "$root/var/lib/apt" "$root/var/log" \
    -mindepth 1 -delete 2>/dev/null || true
rm -rf "$root/etc/apt" "$root/etc/fstab" "$root/etc/hostname" "$root/etc/resolv.conf"

dpkg-deb -x "$package" "$work/package"
dpkg-deb -f "$package" > "$root/var/lib/dpkg/status.d/$name"
install -D -m 755 "$work/package/usr/bin/sallyport" "$root/usr/bin/sallyport"
install -D -m 644 -t "$root/usr/share/doc/$name" "$work/package/usr/share/doc/$name/copyright"

printf '%s\n' 'root:x:0:0:root:/:/usr/sbin/nologin' \
    "$name:x:$user:$user:Sallyport:/var/lib/sallyport:/usr/sbin/nologin" > "$root/etc/passwd"
printf '%s\n' 'root:x:0:' "$name:x:$user:" > "$root/etc/group"
install -d -m 755 "$root/etc/sallyport" "$root/run" "$root/var/lib" "$root/proc" "$root/sys"
install -d -m 700 -o "$user" -g "$user" "$root/var/lib/sallyport"
install -d -m 1777 "$root/tmp"

# The layer, the configuration of a container, and the manifest that names both.
layout=$work/layout
blobs=$layout/blobs/sha256
mkdir -p "$blobs"
digest() { sha256sum "$1" | cut -d' ' -f1; }
store() { mv "$1" "$blobs/$(digest "$1")"; }

tar -C "$root" --sort=name --mtime="@$epoch" --clamp-mtime --numeric-owner --format=gnu \
    -cf "$work/layer.tar" .
layer_content=$(digest "$work/layer.tar")
gzip -n9 "$work/layer.tar"
layer=$(digest "$work/layer.tar.gz") layer_size=$(stat -c %s "$work/layer.tar.gz")
store "$work/layer.tar.gz"

cat > "$work/config" <<JSON
{"created":"$created","architecture":"$architecture","os":"linux","config":{
"User":"$user:$user","WorkingDir":"/var/lib/sallyport","Entrypoint":["/usr/bin/sallyport"],
"Cmd":["run"],"ExposedPorts":{"8080/tcp":{}},"Volumes":{"/var/lib/sallyport":{}},
"StopSignal":"SIGTERM","Labels":{"org.opencontainers.image.title":"Sallyport",
"org.opencontainers.image.version":"$upstream","org.opencontainers.image.licenses":"Apache-2.0"},
"Healthcheck":{"Test":["CMD","/usr/bin/sallyport","healthcheck"],"Interval":10000000000,
"Timeout":6000000000,"StartPeriod":10000000000,"Retries":3}},
"rootfs":{"type":"layers","diff_ids":["sha256:$layer_content"]},
"history":[{"created":"$created","created_by":"scripts/image.sh"}]}
JSON
config=$(digest "$work/config") config_size=$(stat -c %s "$work/config")
store "$work/config"

type=application/vnd.oci.image
cat > "$work/manifest" <<JSON
{"schemaVersion":2,"mediaType":"$type.manifest.v1+json","config":{"mediaType":
"$type.config.v1+json","digest":"sha256:$config","size":$config_size},"layers":[{"mediaType":
"$type.layer.v1.tar+gzip","digest":"sha256:$layer","size":$layer_size}]}
JSON
manifest=$(digest "$work/manifest") manifest_size=$(stat -c %s "$work/manifest")
store "$work/manifest"

echo '{"imageLayoutVersion":"1.0.0"}' > "$layout/oci-layout"
cat > "$layout/index.json" <<JSON
{"schemaVersion":2,"mediaType":"$type.index.v1+json","manifests":[{"mediaType":
"$type.manifest.v1+json","digest":"sha256:$manifest","size":$manifest_size,"platform":
{"architecture":"$architecture","os":"linux"},"annotations":{"org.opencontainers.image.ref.name":
"$name:$upstream"}}]}
JSON
# For programs that do not know the layout of OCI yet.
cat > "$layout/manifest.json" <<JSON
[{"Config":"blobs/sha256/$config","RepoTags":["$name:$upstream"],
"Layers":["blobs/sha256/$layer"]}]
JSON

image=$directory/${name}_${upstream}_$architecture.oci.tar
tar -C "$layout" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=gnu \
    -cf "$image" .
echo "$image"
