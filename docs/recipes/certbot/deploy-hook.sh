#!/bin/sh
# Gives the gateway a certificate that certbot has renewed: certbot runs this with RENEWED_LINEAGE.
# Install as /etc/letsencrypt/renewal-hooks/deploy/sallyport. If any of it fails, nothing changes.
set -eu
umask 077

name=api
directory=/etc/sallyport
new=$(mktemp -d "$directory/.$name.XXXXXX")
trap 'rm -rf "$new"' EXIT

install -m 640 -g sallyport "$RENEWED_LINEAGE/fullchain.pem" "$new/crt"
install -m 640 -g sallyport "$RENEWED_LINEAGE/privkey.pem" "$new/key"

# Half of a renewal, or another lineage's key.
certified=$(openssl x509 -in "$new/crt" -noout -pubkey)
if [ "$certified" != "$(openssl pkey -in "$new/key" -pubout)" ]; then
    echo "sallyport: $RENEWED_LINEAGE: the key does not belong to the certificate" >&2
    exit 1
fi

for kind in crt key; do
    if [ -e "$directory/$name.$kind" ]; then cp -p "$directory/$name.$kind" "$new/old.$kind"; fi
    mv "$new/$kind" "$directory/$name.$kind"
done
# A reload checks the whole configuration first. The next start must not fail for what it found.
if ! systemctl reload sallyport; then
    for kind in crt key; do
        if [ -e "$new/old.$kind" ]; then mv "$new/old.$kind" "$directory/$name.$kind"; fi
    done
    echo "sallyport: the reload failed: $directory/$name.crt and .key are what they were" >&2
    exit 1
fi
