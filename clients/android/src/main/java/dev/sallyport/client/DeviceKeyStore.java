package dev.sallyport.client;

import android.annotation.TargetApi;
import android.os.Build;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyInfo;
import android.security.keystore.KeyProperties;
import java.io.IOException;
import java.math.BigInteger;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.interfaces.ECPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayList;
import java.util.List;

/** Android's Keystore: keys in StrongBox or in the trusted environment, never in software. */
@TargetApi(24)
public final class DeviceKeyStore implements AttestedKeyStore {
    /** The use of StrongBox, a chip of its own that some phones have from Android 9 on. */
    public enum StrongBox {
        /** The key is made in StrongBox, or else in the trusted environment. */
        PREFERRED,
        /** A phone without StrongBox counts as one that cannot attest. */
        REQUIRED,
        /** The key is made in the trusted environment, whose signatures are faster. */
        UNUSED
    }

    private static final String PROVIDER = "AndroidKeyStore";
    private static final int ANDROID_7 = 24;
    private static final int ANDROID_9 = 28;

    private final StrongBox strongBox;

    public DeviceKeyStore() {
        this(StrongBox.PREFERRED);
    }

    public DeviceKeyStore(StrongBox strongBox) {
        this.strongBox = strongBox;
    }

    @Override
    public boolean isSupported() {
        return Build.VERSION.SDK_INT >= ANDROID_7;
    }

    // Keys

    @Override
    public synchronized AttestedKey create(String alias, byte[] challenge) throws KeyException {
        boolean mayHaveStrongBox = Build.VERSION.SDK_INT >= ANDROID_9;
        if (strongBox == StrongBox.REQUIRED && !mayHaveStrongBox) {
            throw new KeyException(
                    KeyException.Kind.UNSUPPORTED, KeyFailures.STRONGBOX_UNAVAILABLE, null);
        }
        if (strongBox != StrongBox.UNUSED && mayHaveStrongBox) {
            try {
                return make(alias, challenge, true);
            } catch (KeyException error) {
                if (strongBox == StrongBox.REQUIRED
                        || error.kind == KeyException.Kind.TRANSIENT) {
                    throw error;
                }
            }
        }
        return make(alias, challenge, false);
    }

    private static AttestedKey make(String alias, byte[] challenge, boolean isStrongBox)
            throws KeyException {
        try {
            KeyGenParameterSpec.Builder spec =
                    new KeyGenParameterSpec.Builder(alias, KeyProperties.PURPOSE_SIGN)
                            .setDigests(KeyProperties.DIGEST_SHA256)
                            .setAlgorithmParameterSpec(new ECGenParameterSpec("secp256r1"))
                            .setAttestationChallenge(challenge);
            if (isStrongBox) {
                Android9.useStrongBox(spec);
            }
            KeyPairGenerator generator =
                    KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, PROVIDER);
            generator.initialize(spec.build());
            PrivateKey key = generator.generateKeyPair().getPrivate();
            // The gateway trusts no chain of an emulator or of a phone without such hardware.
            if (!isInHardware(key)) {
                throw new KeyException(
                        KeyException.Kind.UNSUPPORTED, KeyFailures.SOFTWARE_KEY, null);
            }
            Certificate[] certificates = keyStore().getCertificateChain(alias);
            if (certificates == null || certificates.length < 2) {
                throw new KeyException(
                        KeyException.Kind.UNSUPPORTED, KeyFailures.NO_CHAIN, null);
            }
            List<byte[]> chain = new ArrayList<>();
            for (Certificate certificate : certificates) {
                chain.add(certificate.getEncoded());
            }
            return new AttestedKey(point(certificates[0].getPublicKey()), chain);
        } catch (GeneralSecurityException | IOException | RuntimeException error) {
            if (error instanceof KeyException) {
                throw (KeyException) error;
            }
            throw KeyFailures.failure(error, true);
        }
    }

    @SuppressWarnings("deprecation")
    private static boolean isInHardware(PrivateKey key) throws GeneralSecurityException {
        KeyFactory factory = KeyFactory.getInstance(key.getAlgorithm(), PROVIDER);
        return factory.getKeySpec(key, KeyInfo.class).isInsideSecureHardware();
    }

    /** The uncompressed point: 04, then both coordinates with 32 bytes each. */
    private static byte[] point(PublicKey key) throws InvalidKeyException {
        if (!(key instanceof ECPublicKey)) {
            throw new InvalidKeyException("not an elliptic curve");
        }
        byte[] point = new byte[65];
        point[0] = 4;
        put(((ECPublicKey) key).getW().getAffineX(), point, 1);
        put(((ECPublicKey) key).getW().getAffineY(), point, 33);
        return point;
    }

    private static void put(BigInteger number, byte[] point, int start) {
        byte[] bytes = number.toByteArray();
        // A sign may stand before the number, and zeros may be missing.
        int count = Math.min(bytes.length, 32);
        System.arraycopy(bytes, bytes.length - count, point, start + 32 - count, count);
    }

    /** One signature at a time: the hardware has few places for more. */
    @Override
    public synchronized byte[] sign(String alias, byte[] data) throws KeyException {
        try {
            PrivateKey key = (PrivateKey) keyStore().getKey(alias, null);
            if (key == null) {
                throw new KeyException(KeyException.Kind.LOST, KeyFailures.KEY_MISSING, null);
            }
            Signature signature = Signature.getInstance("SHA256withECDSA");
            signature.initSign(key);
            signature.update(data);
            return signature.sign();
        } catch (GeneralSecurityException | IOException | RuntimeException error) {
            if (error instanceof KeyException) {
                throw (KeyException) error;
            }
            throw KeyFailures.failure(error, false);
        }
    }

    @Override
    public synchronized void delete(String alias) throws KeyException {
        try {
            keyStore().deleteEntry(alias);
        } catch (GeneralSecurityException | IOException | RuntimeException error) {
            throw KeyFailures.failure(error, false);
        }
    }

    private static KeyStore keyStore() throws GeneralSecurityException, IOException {
        KeyStore keyStore = KeyStore.getInstance(PROVIDER);
        keyStore.load(null);
        return keyStore;
    }

    /** What older systems lack is in classes that they do not load. */
    @TargetApi(ANDROID_9)
    private static final class Android9 {
        static void useStrongBox(KeyGenParameterSpec.Builder spec) {
            spec.setIsStrongBoxBacked(true);
        }
    }
}
