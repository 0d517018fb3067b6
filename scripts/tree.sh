#!/usr/bin/env bash
# Lays out what an installation of a built `sallyport` has below `usr` and `etc`:
# scripts/tree.sh PROGRAM DIRECTORY
set -euo pipefail
program=$(realpath "$1") directory=$2
mkdir -p "$directory"
directory=$(realpath "$directory")
cd "$(dirname "$0")/.."

share=$directory/usr/share
documents=$share/doc/sallyport
install -D -m 755 "$program" "$directory/usr/bin/sallyport"
# Its first line tells editors where the schema is, which is not there.
sed 1d conf/examples/quick-start.yaml |
    install -D -m 644 /dev/stdin "$directory/etc/sallyport/sallyport.yaml"
install -D -m 644 deploy/sallyport.sysusers "$directory/usr/lib/sysusers.d/sallyport.conf"

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
scripts/man-pages.sh "$program" "$made"
install -D -m 644 -t "$share/man/man1" "$made/sallyport.1"
install -D -m 644 -t "$share/man/man5" "$made/sallyport.yaml.5"
scripts/completions.sh "$program" "$made"
install -D -m 644 "$made/sallyport.bash" "$share/bash-completion/completions/sallyport"
install -D -m 644 -t "$share/zsh/vendor-completions" "$made/_sallyport"
install -D -m 644 -t "$share/fish/vendor_completions.d" "$made/sallyport.fish"

install -D -m 644 -t "$share/sallyport" conf/sallyport.schema.json
install -D -m 644 -t "$documents/examples" conf/sallyport.yaml conf/examples/*.yaml

# The pages, and what they lead to, at the same places as here.
install_files() {
    local file
    while read -r file; do
        install -D -m 644 "$file" "$documents/$file"
    done < <(find "$@" -type f ! -path '*/__pycache__/*' | sort)
}
install_files SECURITY.md Benchmarks/README.md Benchmarks/formula.py \
    docs/{*.md,openapi.yaml,client,decisions,images,operations,proof,recipes} \
    deploy/{sallyport.*,sysctl.md,grafana,integrations,kubernetes,prometheus,two-gateways}
mkdir -p "$documents/conf"
ln -sfn ../examples "$documents/conf/examples"
ln -sf ../examples/sallyport.yaml "$documents/conf/sallyport.yaml"
ln -sf ../../../sallyport/sallyport.schema.json "$documents/conf/sallyport.schema.json"

# A link to what the source alone has becomes its words.
find "$documents" -name '*.md' -print0 | xargs -0 perl -0777 -pi -e '
    my ($folder) = $ARGV =~ m{(.*)/};
    s{\[([^][]+)\]\((?!\w+:)([^()#\s]+)(?:#[^()\s]*)?\)}{-e "$folder/$2" ? $& : $1}ge'
