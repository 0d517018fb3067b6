package dev.sallyport.client;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The client against the published test vectors. */
final class VectorTests {
    /** The start of a P-256 key in DER, before the point. */
    private static final String KEY_PREFIX = "3059301306072a8648ce3d020106082a8648ce3d030107034200";

    private final Map<String, Object> document;
    private final byte[] point;

    VectorTests() throws Exception {
        document = Json.object(new String(
                Files.readAllBytes(Path.of("docs/client/android-vectors.json")),
                StandardCharsets.UTF_8));
        point = java.util.Base64.getDecoder().decode(
                Json.string(Json.object(document, "key"), "public_point"));
    }

    /** A key store with the published key, which gives a signature that was made before. */
    private final class FixedKeyStore implements AttestedKeyStore {
        byte[] signed;
        final byte[] signature;

        FixedKeyStore(byte[] signature) {
            this.signature = signature;
        }

        @Override
        public boolean isSupported() {
            return true;
        }

        @Override
        public AttestedKey create(String alias, byte[] challenge) {
            return new AttestedKey(point, Collections.singletonList(new byte[] {0x30, 0}));
        }

        @Override
        public byte[] sign(String alias, byte[] data) {
            signed = data;
            return signature;
        }

        @Override
        public void delete(String alias) {}
    }

    @SuppressWarnings("unchecked")
    private List<Map<String, Object>> list(String name) {
        return (List<Map<String, Object>>) document.get(name);
    }

    /** Has the client sign the request of a vector. */
    private static Request signed(FixedKeyStore keys, Map<String, Object> vector)
            throws Exception {
        String challenge = Json.string(vector, "challenge");
        Transport gateway = request -> {
            String text = request.url.contains("/attest/verify")
                    ? "{\"status\":\"attested\"}" : "{\"challenge\":\"" + challenge + "\"}";
            return new Response(
                    200, Collections.emptyMap(), text.getBytes(StandardCharsets.UTF_8));
        };
        Configuration.Builder settings = new Configuration.Builder("https://api.example.com/");
        String body = Json.string(vector, "body");
        if (Json.string(vector, "shape").equals("body")) {
            settings.signBody("challenge");
            // The client writes the challenge itself.
            body = body.replace("\"challenge\":\"" + challenge + "\",", "");
        }
        AttestClient client = new AttestClient(
                settings.build(),
                new Parts(keys, new StateStore.Memory(), gateway, new AppInfo("", "", "")));
        return client.sign(new Request(
                Json.string(vector, "method"),
                "https://api.example.com" + Json.string(vector, "target"),
                body.isEmpty() ? null : Body.of(body)));
    }

    @Claim("requests have the client data and the headers of the vectors")
    void requests() throws Exception {
        int count = 0;
        for (Map<String, Object> vector : list("vectors")) {
            if (!Json.string(vector, "expected").equals("ok")) {
                continue;
            }
            count++;
            FixedKeyStore keys = new FixedKeyStore(hex(Json.string(vector, "signature")));
            Request signed = signed(keys, vector);
            Expect.equal(
                    new String(keys.signed, StandardCharsets.UTF_8),
                    Json.string(vector, "client_data"));
            Map<String, Object> headers = Json.object(vector, "headers");
            Expect.equal(signed.headers.size(), headers.size());
            for (Request.Header header : signed.headers) {
                Expect.equal(header.value, headers.get(header.name));
            }
            String body = signed.body == null
                    ? "" : new String(signed.body.bytes(), StandardCharsets.UTF_8);
            Expect.equal(body, Json.string(vector, "body"));
        }
        Expect.equal(count, 4);
    }

    @Claim("the key ID and the attestation challenges are those of the vectors")
    void enrolment() throws Exception {
        Expect.equal(
                ClientData.keyId(point), Json.string(Json.object(document, "key"), "key_id"));
        for (Map<String, Object> challenge : list("attestation_challenges")) {
            Expect.isTrue(Arrays.equals(
                    ClientData.attestationChallenge(Json.string(challenge, "challenge")),
                    hex(Json.string(challenge, "attestation_challenge"))));
        }
    }

    @Claim("signatures hold for the client data but those that must not")
    void signatures() throws Exception {
        Set<Boolean> outcomes = new HashSet<>();
        for (Map<String, Object> vector : list("vectors")) {
            boolean holds = !Json.string(vector, "expected").equals("assertion_invalid");
            Expect.equal(holds(vector), holds);
            outcomes.add(holds);
        }
        Expect.equal(outcomes.size(), 2);
    }

    private boolean holds(Map<String, Object> vector) throws Exception {
        byte[] prefix = hex(KEY_PREFIX);
        byte[] der = Arrays.copyOf(prefix, prefix.length + point.length);
        System.arraycopy(point, 0, der, prefix.length, point.length);
        PublicKey key = KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(der));
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initVerify(key);
        signature.update(Json.string(vector, "client_data").getBytes(StandardCharsets.UTF_8));
        try {
            return signature.verify(hex(Json.string(vector, "signature")));
        } catch (SignatureException error) {
            return false;
        }
    }

    private static byte[] hex(String text) {
        byte[] bytes = new BigInteger("01" + text, 16).toByteArray();
        return Arrays.copyOfRange(bytes, 1, bytes.length);
    }
}
