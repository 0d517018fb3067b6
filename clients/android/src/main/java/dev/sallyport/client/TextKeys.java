package dev.sallyport.client;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * A key store for a client in another language: all arguments and results are texts, and bytes are
 * in base64.
 */
public final class TextKeys {
    private final AttestedKeyStore keys;

    public TextKeys(AttestedKeyStore keys) {
        this.keys = keys;
    }

    /** True if this system can attest keys at all. */
    public boolean isSupported() {
        return keys.isSupported();
    }

    /**
     * Makes a key, and returns its key ID and then the certificates, the key's own first.
     *
     * @param challenge Base64 of the attestation challenge, at most 128 bytes.
     */
    public List<String> create(String alias, String challenge) throws KeyException {
        byte[] bytes = Base64.decode(challenge);
        if (bytes == null) {
            throw new KeyException(KeyException.Kind.UNKNOWN, "invalidChallenge", null);
        }
        AttestedKeyStore.AttestedKey key = keys.create(alias, bytes);
        List<String> texts = new ArrayList<>();
        texts.add(ClientData.keyId(key.point));
        for (byte[] certificate : key.chain) {
            texts.add(Base64.encode(certificate));
        }
        return texts;
    }

    /** Returns the ECDSA signature in DER over the SHA-256 of the client data in UTF-8. */
    public String sign(String alias, String clientData) throws KeyException {
        return Base64.encode(keys.sign(alias, clientData.getBytes(StandardCharsets.UTF_8)));
    }

    public void delete(String alias) throws KeyException {
        keys.delete(alias);
    }

    /** The kind of a failure in lower case and its code, such as {@code lost:keyMissing}. */
    public static String code(KeyException error) {
        return error.kind.name().toLowerCase(Locale.ROOT) + ":" + error.code;
    }
}
