#!/bin/sh
# Gives the gateway a certificate that certbot has renewed: certbot runs this with RENEWED_LINEAGE.
# Install as /etc/letsencrypt/renewal-hooks/deploy/sallyport. Nothing changes unless all of it can.
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

mv "$new/crt" "$directory/$name.crt"
mv "$new/key" "$directory/$name.key"
systemctl reload sallyport
