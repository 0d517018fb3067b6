package dev.sallyport.client;

import android.security.keystore.KeyGenParameterSpec;
import android.security.keystore.StrongBoxUnavailableException;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.UUID;

/** A phone of {@code sallyport-lab} behind Android's Keystore, with an app of its own. */
final class LabPhone implements FakeProvider.Hardware {
    private final String lab;
    private final String files;
    private final String google;
    private final String app;
    private final String signingDigest;
    /** False for a phone that has only a trusted environment. */
    boolean hasStrongBox = true;
    /** More options of {@code sallyport-lab device new}. */
    List<String> options = Collections.emptyList();
    int keyCount;

    /**
     * @param lab The command.
     * @param files The first part of the names of the phone's files.
     * @param google The file of {@code sallyport-lab root}.
     * @param app {@code PACKAGE=DIGEST}, with the digest of the certificate that signs the app.
     */
    LabPhone(String lab, String files, String google, String app) {
        this.lab = lab;
        this.files = files;
        this.google = google;
        this.app = app.substring(0, app.indexOf('='));
        signingDigest = app.substring(app.indexOf('=') + 1);
    }

    /** Makes this the phone whose Keystore apps see. */
    void switchOn() {
        Security.removeProvider("AndroidKeyStore");
        Security.addProvider(new FakeProvider());
        FakeProvider.reset();
        FakeProvider.hardware = this;
        FakeProvider.strongBoxFailure = hasStrongBox ? null : new StrongBoxUnavailableException();
    }

    @Override
    public KeyStore.PrivateKeyEntry make(KeyGenParameterSpec spec) throws Exception {
        keyCount++;
        File state = new File(files + "-" + UUID.randomUUID());
        File challenge = new File(state + ".challenge");
        Files.write(challenge.toPath(), spec.getAttestationChallenge());
        List<String> words = new ArrayList<>(Arrays.asList(
                "device", "new", "--platform", "android", "--state", state.getPath(), "--app", app,
                "--signing-digest", signingDigest, "--security-level",
                spec.isStrongBoxBacked() ? "strongbox" : "tee"));
        words.addAll(options);
        run(words);
        String pem = run(Arrays.asList(
                "mint", "android-attestation", "--device", state.getPath(), "--google", google,
                "--challenge-file", challenge.getPath(), "--pem"));
        Certificate[] chain = CertificateFactory.getInstance("X.509").generateCertificates(
                new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII))).toArray(
                        new Certificate[0]);
        return new KeyStore.PrivateKeyEntry(key(state), chain);
    }

    private static PrivateKey key(File state) throws Exception {
        String text = new String(Files.readAllBytes(state.toPath()), StandardCharsets.UTF_8);
        String pem = Json.string(Json.object(Json.object(text), "phone"), "key");
        byte[] der = java.util.Base64.getMimeDecoder().decode(
                pem.replaceAll("-----[A-Z ]*-----", ""));
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
    }

    private String run(List<String> words) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(Collections.singletonList(lab));
        command.addAll(words);
        return run(command.toArray(new String[0]));
    }

    /** The output of a command that must succeed. */
    static String run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        process.getOutputStream().close();
        byte[] output = process.getInputStream().readAllBytes();
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command));
        }
        return new String(output, StandardCharsets.UTF_8);
    }
}
