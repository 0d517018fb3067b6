package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.spec.ECGenParameterSpec;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;

/** A key store in memory, whose answers a test may replace by failures. */
final class FakeKeyStore implements AttestedKeyStore {
    /** Makes the chain of certificates of a key. */
    interface ChainMaker {
        List<byte[]> chain(KeyPair key, byte[] challenge) throws GeneralSecurityException;
    }

    final Map<String, KeyPair> keys = new HashMap<>();
    final Deque<KeyException> createFailures = new ArrayDeque<>();
    final Deque<KeyException> signFailures = new ArrayDeque<>();
    final List<byte[]> challenges = new ArrayList<>();
    ChainMaker chains = FakeKeyStore::fakeChain;
    boolean isSupported = true;
    int keyCount;
    int signatureCount;
    /** The first signatures are all asked for before any is given. */
    CyclicBarrier meeting;

    static KeyException failure(KeyException.Kind kind, String code) {
        return new KeyException(kind, code, null);
    }

    void failCreating(KeyException.Kind kind, String code) {
        createFailures.add(failure(kind, code));
    }

    void failSigning(KeyException.Kind kind, String code, int count) {
        for (int index = 0; index < count; index++) {
            signFailures.add(failure(kind, code));
        }
    }

    /** The keys are gone, as after the phone was restored. */
    synchronized void loseKeys() {
        keys.clear();
    }

    /** A leaf that only the fake gateway reads: the challenge and the key, with their lengths. */
    private static List<byte[]> fakeChain(KeyPair key, byte[] challenge) {
        ByteArrayOutputStream leaf = new ByteArrayOutputStream();
        leaf.write(challenge.length);
        leaf.write(challenge, 0, challenge.length);
        byte[] info = key.getPublic().getEncoded();
        leaf.write(info, 0, info.length);
        return Collections.unmodifiableList(Arrays.asList(leaf.toByteArray(), new byte[] {1}));
    }

    static KeyPair newKey() throws GeneralSecurityException {
        KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
        generator.initialize(new ECGenParameterSpec("secp256r1"));
        return generator.generateKeyPair();
    }

    /** The point is the end of the key in DER. */
    static byte[] point(KeyPair key) {
        byte[] info = key.getPublic().getEncoded();
        return Arrays.copyOfRange(info, info.length - 65, info.length);
    }

    @Override
    public boolean isSupported() {
        return isSupported;
    }

    @Override
    public synchronized AttestedKey create(String alias, byte[] challenge) throws KeyException {
        challenges.add(challenge);
        if (!createFailures.isEmpty()) {
            throw createFailures.remove();
        }
        try {
            KeyPair key = newKey();
            keys.put(alias, key);
            keyCount++;
            return new AttestedKey(point(key), chains.chain(key, challenge));
        } catch (GeneralSecurityException error) {
            throw new KeyException(KeyException.Kind.UNKNOWN, "other", error);
        }
    }

    @Override
    public byte[] sign(String alias, byte[] data) throws KeyException {
        CyclicBarrier meeting = this.meeting;
        if (meeting != null) {
            try {
                meeting.await();
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            this.meeting = null;
        }
        return signNow(alias, data);
    }

    private synchronized byte[] signNow(String alias, byte[] data) throws KeyException {
        if (!signFailures.isEmpty()) {
            throw signFailures.remove();
        }
        KeyPair key = keys.get(alias);
        if (key == null) {
            throw new KeyException(KeyException.Kind.LOST, "keyMissing", null);
        }
        try {
            signatureCount++;
            Signature signature = Signature.getInstance("SHA256withECDSA");
            signature.initSign(key.getPrivate());
            signature.update(data);
            return signature.sign();
        } catch (GeneralSecurityException error) {
            throw new KeyException(KeyException.Kind.UNKNOWN, "other", error);
        }
    }

    @Override
    public synchronized void delete(String alias) {
        keys.remove(alias);
    }
}
