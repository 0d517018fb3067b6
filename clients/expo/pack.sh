#!/usr/bin/env bash
# Makes the npm package with everything that it needs, the clients in TypeScript and Swift and that
# for Android included: clients/expo/pack.sh [FOLDER]. Prints the archive's path. It takes tsc, and
# tar of GNU or BSD (macOS).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${1:-.}" && pwd)
version=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' "$here/package.json")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
package=$stage/package

tsc -p "$here/../typescript"
tsc -p "$here"
mkdir -p "$package/node_modules/sallyport-client" "$package/android" "$package/ios"
cp "$here"/{package.json,README.md,app.plugin.js,expo-module.config.json,react-native.config.js} \
    "$here/../../LICENSE" "$package"
cp -R "$here/build" "$package"
# The code is in modules; what Expo's tools require is not.
echo '{ "type": "module" }' >"$package/build/package.json"
cp -R "$here/../typescript/"{package.json,README.md,build,src} \
    "$package/node_modules/sallyport-client"
cp -R "$here/ios/." "$package/ios"
cp -R "$here/../swift/Sources/SallyportClient" "$package/ios"
cp -R "$here/android/." "$package/android"
cp -R "$here/../android/src/main/java" "$package/android/client"

archive=$folder/sallyport-expo-$version.tgz
# The same files make the same archive. Each tar names the owner differently.
owner=(--uid 0 --gid 0)
if tar --version | grep -q GNU; then owner=(--owner=0 --group=0); fi
find "$package" -exec env TZ=UTC touch -h -t 197001010000 {} +
(cd "$stage" && find package | LC_ALL=C sort >files)
tar -C "$stage" --format=ustar --numeric-owner "${owner[@]}" --no-recursion -T "$stage/files" \
    -cf - | gzip -n >"$archive"
echo "$archive"
