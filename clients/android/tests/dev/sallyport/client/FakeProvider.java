package dev.sallyport.client;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyInfo;
import java.io.InputStream;
import java.io.OutputStream;
import java.security.InvalidAlgorithmParameterException;
import java.security.Key;
import java.security.KeyFactorySpi;
import java.security.KeyPair;
import java.security.KeyPairGeneratorSpi;
import java.security.KeyStore;
import java.security.KeyStoreSpi;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.SecureRandom;
import java.security.UnrecoverableKeyException;
import java.security.cert.Certificate;
import java.security.spec.AlgorithmParameterSpec;
import java.security.spec.KeySpec;
import java.util.Collections;
import java.util.Date;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;

/** Android's Keystore as a provider of Java's, in memory. */
public final class FakeProvider extends Provider {
    /** The hardware that makes keys and vouches for them. */
    interface Hardware {
        /** A new key with the certificates for it. */
        KeyStore.PrivateKeyEntry make(KeyGenParameterSpec spec) throws Exception;
    }

    private static final long serialVersionUID = 1;

    static final Map<String, KeyPair> KEYS = new HashMap<>();
    /** The certificates of the keys that the hardware made. */
    private static final Map<String, Certificate[]> CHAINS = new HashMap<>();
    /** Null to make keys whose certificates have nothing but the key. */
    static Hardware hardware;
    /** The specification of the last key. */
    static KeyGenParameterSpec spec;
    /** The failures of making a key in StrongBox, of making one elsewhere, and of using one. */
    static RuntimeException strongBoxFailure;
    static RuntimeException teeFailure;
    static Exception useFailure;
    static boolean isInHardware;
    static int chainLength;

    static void reset() {
        KEYS.clear();
        CHAINS.clear();
        hardware = null;
        spec = null;
        strongBoxFailure = null;
        teeFailure = null;
        useFailure = null;
        isInHardware = true;
        chainLength = 3;
    }

    public FakeProvider() {
        super("AndroidKeyStore", "1", "a fake of Android's Keystore");
        put("KeyPairGenerator.EC", Generator.class.getName());
        put("KeyStore.AndroidKeyStore", Store.class.getName());
        put("KeyFactory.EC", Factory.class.getName());
    }

    public static final class Generator extends KeyPairGeneratorSpi {
        @Override
        public void initialize(int size, SecureRandom random) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void initialize(AlgorithmParameterSpec parameters, SecureRandom random)
                throws InvalidAlgorithmParameterException {
            spec = (KeyGenParameterSpec) parameters;
        }

        @Override
        public KeyPair generateKeyPair() {
            RuntimeException failure = spec.isStrongBoxBacked() ? strongBoxFailure : teeFailure;
            if (failure != null) {
                throw failure;
            }
            try {
                KeyPair key = hardware == null ? FakeKeyStore.newKey() : certified(hardware);
                KEYS.put(spec.getKeystoreAlias(), key);
                return key;
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }

        private static KeyPair certified(Hardware hardware) throws Exception {
            KeyStore.PrivateKeyEntry entry = hardware.make(spec);
            CHAINS.put(spec.getKeystoreAlias(), entry.getCertificateChain());
            return new KeyPair(entry.getCertificate().getPublicKey(), entry.getPrivateKey());
        }
    }

    public static final class Factory extends KeyFactorySpi {
        @Override
        protected <T extends KeySpec> T engineGetKeySpec(Key key, Class<T> type) {
            return type.cast(new KeyInfo(isInHardware));
        }

        @Override
        protected PublicKey engineGeneratePublic(KeySpec spec) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected PrivateKey engineGeneratePrivate(KeySpec spec) {
            throw new UnsupportedOperationException();
        }

        @Override
        protected Key engineTranslateKey(Key key) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class FakeCertificate extends Certificate {
        private static final long serialVersionUID = 1;

        private final int index;
        private final transient PublicKey key;

        FakeCertificate(int index, PublicKey key) {
            super("X.509");
            this.index = index;
            this.key = key;
        }

        @Override
        public byte[] getEncoded() {
            return new byte[] {0x30, 1, (byte) index};
        }

        @Override
        public void verify(PublicKey key) {}

        @Override
        public void verify(PublicKey key, String provider) {}

        @Override
        public String toString() {
            return "certificate " + index;
        }

        @Override
        public PublicKey getPublicKey() {
            return key;
        }
    }

    public static final class Store extends KeyStoreSpi {
        @Override
        public Key engineGetKey(String alias, char[] password) throws UnrecoverableKeyException {
            if (useFailure instanceof UnrecoverableKeyException) {
                throw (UnrecoverableKeyException) useFailure;
            }
            if (useFailure instanceof RuntimeException) {
                throw (RuntimeException) useFailure;
            }
            if (useFailure != null) {
                UnrecoverableKeyException failure = new UnrecoverableKeyException();
                failure.initCause(useFailure);
                throw failure;
            }
            return KEYS.containsKey(alias) ? KEYS.get(alias).getPrivate() : null;
        }

        @Override
        public Certificate[] engineGetCertificateChain(String alias) {
            if (CHAINS.containsKey(alias)) {
                return CHAINS.get(alias);
            }
            Certificate[] chain = new Certificate[chainLength];
            for (int index = 0; index < chain.length; index++) {
                chain[index] = new FakeCertificate(index, KEYS.get(alias).getPublic());
            }
            return chainLength == 0 ? null : chain;
        }

        @Override
        public Certificate engineGetCertificate(String alias) {
            return engineGetCertificateChain(alias)[0];
        }

        @Override
        public Date engineGetCreationDate(String alias) {
            return null;
        }

        @Override
        public void engineSetKeyEntry(
                String alias, Key key, char[] password, Certificate[] chain) {}

        @Override
        public void engineSetKeyEntry(String alias, byte[] key, Certificate[] chain) {}

        @Override
        public void engineSetCertificateEntry(String alias, Certificate certificate) {}

        @Override
        public void engineDeleteEntry(String alias) {
            KEYS.remove(alias);
        }

        @Override
        public Enumeration<String> engineAliases() {
            return Collections.enumeration(KEYS.keySet());
        }

        @Override
        public boolean engineContainsAlias(String alias) {
            return KEYS.containsKey(alias);
        }

        @Override
        public int engineSize() {
            return KEYS.size();
        }

        @Override
        public boolean engineIsKeyEntry(String alias) {
            return KEYS.containsKey(alias);
        }

        @Override
        public boolean engineIsCertificateEntry(String alias) {
            return false;
        }

        @Override
        public String engineGetCertificateAlias(Certificate certificate) {
            return null;
        }

        @Override
        public void engineStore(OutputStream out, char[] password) {}

        @Override
        public void engineLoad(InputStream in, char[] password) {}
    }
}
