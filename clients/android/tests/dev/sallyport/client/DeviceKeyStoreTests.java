package dev.sallyport.client;

import android.content.Context;
import android.content.SharedPreferences;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.os.Build;
import android.security.KeyStoreException;
import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import android.security.keystore.StrongBoxUnavailableException;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.InvalidKeyException;
import java.security.ProviderException;
import java.security.Security;
import java.security.Signature;
import java.security.UnrecoverableKeyException;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;

final class DeviceKeyStoreTests implements AutoCloseable {
    private static final byte[] CHALLENGE = "challenge".getBytes(StandardCharsets.UTF_8);

    private final DeviceKeyStore keys = new DeviceKeyStore();

    DeviceKeyStoreTests() {
        Security.addProvider(new FakeProvider());
        FakeProvider.reset();
    }

    @Override
    public void close() {
        Security.removeProvider("AndroidKeyStore");
        Build.VERSION.SDK_INT = 34;
    }

    private static ProviderException keyStore(int code, boolean isTransient) {
        return new ProviderException(new KeyStoreException(code, isTransient));
    }

    private KeyException createFailure() {
        return Expect.fails(KeyException.class, () -> keys.create("a", CHALLENGE));
    }

    private KeyException signFailure() {
        return Expect.fails(KeyException.class, () -> keys.sign("a", CHALLENGE));
    }

    @Claim("a key is made as the gateway wants it, and signs")
    void create() throws Exception {
        AttestedKeyStore.AttestedKey key = keys.create("a", CHALLENGE);
        KeyGenParameterSpec spec = FakeProvider.spec;
        Expect.equal(spec.getPurposes(), 4);
        Expect.equal(Arrays.asList(spec.getDigests()), Arrays.asList("SHA-256"));
        Expect.equal(
                ((ECGenParameterSpec) spec.getAlgorithmParameterSpec()).getName(), "secp256r1");
        Expect.isTrue(Arrays.equals(spec.getAttestationChallenge(), CHALLENGE));
        Expect.isTrue(spec.isStrongBoxBacked());
        Expect.equal(key.chain.size(), 3);
        Expect.isTrue(Arrays.equals(key.chain.get(0), new byte[] {0x30, 1, 0}));

        byte[] data = {1, 2, 3};
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initVerify(FakeProvider.KEYS.get("a").getPublic());
        signature.update(data);
        Expect.isTrue(signature.verify(keys.sign("a", data)));
        keys.delete("a");
        keys.delete("a");
        Expect.equal(signFailure().code, "keyMissing");
        Expect.equal(signFailure().kind, KeyException.Kind.LOST);
    }

    @Claim("a point has 65 bytes, whatever the size of its numbers")
    void points() throws Exception {
        // Of some hundred keys, some have a number with a zero in front, half one with a sign.
        for (int index = 0; index < 300; index++) {
            byte[] point = keys.create("a", CHALLENGE).point;
            Expect.isTrue(
                    Arrays.equals(point, FakeKeyStore.point(FakeProvider.KEYS.get("a"))));
        }
    }

    @Claim("StrongBox comes first, then the trusted environment")
    void tiers() throws Exception {
        RuntimeException[] failures = {
            new StrongBoxUnavailableException(), keyStore(16, false), keyStore(10, false),
            new ProviderException("x"), new NullPointerException()
        };
        for (RuntimeException failure : failures) {
            FakeProvider.strongBoxFailure = failure;
            keys.create("a", CHALLENGE);
            Expect.isTrue(!FakeProvider.spec.isStrongBoxBacked());
        }
        // What may pass is tried again later.
        FakeProvider.strongBoxFailure = keyStore(16, true);
        Expect.equal(createFailure().kind, KeyException.Kind.TRANSIENT);
        Expect.isTrue(FakeProvider.spec.isStrongBoxBacked());
    }

    @Claim("StrongBox may be required, or left out")
    void strongBox() throws Exception {
        DeviceKeyStore required = new DeviceKeyStore(DeviceKeyStore.StrongBox.REQUIRED);
        required.create("a", CHALLENGE);
        FakeProvider.strongBoxFailure = new StrongBoxUnavailableException();
        KeyException error =
                Expect.fails(KeyException.class, () -> required.create("a", CHALLENGE));
        Expect.equal(error.kind, KeyException.Kind.UNSUPPORTED);
        Expect.equal(error.code, "strongBoxUnavailable");
        new DeviceKeyStore(DeviceKeyStore.StrongBox.UNUSED).create("a", CHALLENGE);
        Build.VERSION.SDK_INT = 27;
        FakeProvider.spec = null;
        error = Expect.fails(KeyException.class, () -> required.create("a", CHALLENGE));
        Expect.equal(error.code, "strongBoxUnavailable");
        Expect.equal(FakeProvider.spec, null);
        keys.create("a", CHALLENGE);
        Expect.isTrue(!FakeProvider.spec.isStrongBoxBacked());
        Build.VERSION.SDK_INT = 24;
        Expect.isTrue(keys.isSupported());
        Build.VERSION.SDK_INT = 23;
        Expect.isTrue(!keys.isSupported());
    }

    @Claim("a key in software, or without a chain, is none")
    void software() {
        FakeProvider.isInHardware = false;
        Expect.equal(createFailure().code, "softwareKey");
        Expect.equal(createFailure().kind, KeyException.Kind.UNSUPPORTED);
        FakeProvider.isInHardware = true;
        for (int length = 0; length < 2; length++) {
            FakeProvider.chainLength = length;
            Expect.equal(createFailure().code, "noChain");
        }
    }

    @Claim("each failure to make a key has its kind and code")
    void createFailures() {
        Object[][] cases = {
            {keyStore(16, true), KeyException.Kind.TRANSIENT, "keyStore16"},
            {keyStore(4, true), KeyException.Kind.TRANSIENT, "keyStore4"},
            {keyStore(16, false), KeyException.Kind.UNSUPPORTED, "keyStore16"},
            {keyStore(8, false), KeyException.Kind.UNSUPPORTED, "keyStore8"},
            {keyStore(9, false), KeyException.Kind.UNSUPPORTED, "keyStore9"},
            {keyStore(12, false), KeyException.Kind.UNSUPPORTED, "keyStore12"},
            {keyStore(10, false), KeyException.Kind.UNKNOWN, "keyStore10"},
            {new ProviderException("x"), KeyException.Kind.UNKNOWN, "other"},
            {new IllegalArgumentException(), KeyException.Kind.UNKNOWN, "other"},
        };
        FakeProvider.strongBoxFailure = new StrongBoxUnavailableException();
        for (Object[] values : cases) {
            FakeProvider.teeFailure = (RuntimeException) values[0];
            KeyException error = createFailure();
            Expect.equal(error.kind, values[1]);
            Expect.equal(error.code, values[2]);
            Expect.isTrue(error.getCause() == values[0]);
        }
        // Before Android 13 there are no codes.
        Build.VERSION.SDK_INT = 32;
        FakeProvider.teeFailure = keyStore(16, true);
        Expect.equal(createFailure().code, "other");
    }

    @Claim("each failure to sign has its kind and code")
    void signFailures() throws Exception {
        Object[][] cases = {
            {new KeyPermanentlyInvalidatedException(), KeyException.Kind.LOST,
                "keyPermanentlyInvalidated"},
            {new KeyStoreException(6, false), KeyException.Kind.LOST, "keyStore6"},
            {new KeyStoreException(7, false), KeyException.Kind.LOST, "keyStore7"},
            {new KeyStoreException(4, true), KeyException.Kind.TRANSIENT, "keyStore4"},
            {new KeyStoreException(16, false), KeyException.Kind.UNKNOWN, "keyStore16"},
            {new UnrecoverableKeyException(), KeyException.Kind.UNKNOWN, "unrecoverableKey"},
            {new IllegalStateException(), KeyException.Kind.UNKNOWN, "other"},
        };
        keys.create("a", CHALLENGE);
        for (Object[] values : cases) {
            FakeProvider.useFailure = (Exception) values[0];
            KeyException error = signFailure();
            Expect.equal(error.kind, values[1]);
            Expect.equal(error.code, values[2]);
        }
        Expect.equal(
                KeyFailures.failure(new InvalidKeyException(), false).code, "invalidKey");
    }

    @Claim("a client of the phone's own parts enrols and signs, and an invalidated key is replaced")
    void client() throws Exception {
        try (Site site = new Site()) {
            Path folder = Files.createTempDirectory("sallyport");
            Configuration configuration = site.settings.build();
            Parts parts = Parts.ofDevice(new FakeContext(folder.toFile()), configuration);
            Expect.equal(parts.app.version, "410");
            Expect.equal(parts.app.system, "14");
            site.gateway.script("/attest/verify", new FakeGateway.Reply(200, "{}"), 2);
            AttestClient client = new AttestClient(configuration, parts);
            Expect.isTrue(client.sign(site.request()).header("X-App-Attest-Key-Id") != null);
            String first = client.keyId();
            FakeProvider.useFailure = new KeyPermanentlyInvalidatedException();
            Expect.kind(() -> client.sign(site.request()));
            FakeProvider.useFailure = null;
            client.sign(site.request());
            Expect.isTrue(!client.keyId().equals(first));
            Expect.equal(FakeProvider.KEYS.size(), 1);
            for (File file : folder.toFile().listFiles()) {
                Expect.isTrue(file.getName().startsWith("sallyport-") && file.delete());
            }
            Files.delete(folder);
        }
    }

    static final class FakeContext extends Context {
        private final File folder;

        FakeContext(File folder) {
            this.folder = folder;
        }

        @Override
        public File getNoBackupFilesDir() {
            return folder;
        }

        @Override
        public SharedPreferences getSharedPreferences(String name, int mode) {
            return new FakePreferences();
        }

        @Override
        public String getPackageName() {
            return "com.example.app";
        }

        @Override
        public PackageManager getPackageManager() {
            return new PackageManager() {
                @Override
                public PackageInfo getPackageInfo(String name, int flags) {
                    PackageInfo info = new PackageInfo();
                    info.versionCode = 410;
                    return info;
                }
            };
        }
    }
}
