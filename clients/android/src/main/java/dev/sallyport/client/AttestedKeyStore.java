package dev.sallyport.client;

import java.util.List;

/**
 * The part of Android's key store that a client needs: {@link DeviceKeyStore} on a phone, a double
 * in tests.
 */
public interface AttestedKeyStore {
    /** A key that the phone has attested. */
    final class AttestedKey {
        /** The public key: 65 bytes, the uncompressed point (X9.63). */
        public final byte[] point;
        /** The certificates in DER, the key's own first. */
        public final List<byte[]> chain;

        public AttestedKey(byte[] point, List<byte[]> chain) {
            this.point = point;
            this.chain = chain;
        }
    }

    /** True if this system can attest keys at all. */
    boolean isSupported();

    /**
     * Makes a P-256 key for signatures, in place of any key of this alias.
     *
     * @param challenge The attestation challenge, at most 128 bytes.
     */
    AttestedKey create(String alias, byte[] challenge) throws KeyException;

    /** Returns the ECDSA signature over the SHA-256 of {@code data}, in DER. */
    byte[] sign(String alias, byte[] data) throws KeyException;

    /** Deletes the key of this alias, if there is one. */
    void delete(String alias) throws KeyException;
}
