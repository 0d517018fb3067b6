package dev.sallyport.client;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.KeyFactory;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Collections;
import java.util.Random;

final class BytesTests {
    /** The key of the test vectors of the repository: its point, and in DER. */
    private static final String POINT =
            "BC9uapoTMiIIxd5lMfiEMkXLm0BAw/HhyixFdJVzhThFWVrxqrUg6BicDaxfqw8Am9mTRwYrN4EF9domBn+"
            + "cpPI=";
    private static final String KEY_ID = "dpncccN6+0moq/WUpUZ9lGMukkQfEYp4+uY9NschELU=";
    private static final String INFO_PREFIX =
            "3059301306072a8648ce3d020106082a8648ce3d030107034200";

    /** A key store with a fixed key and a fixed signature. */
    private static final class FixedKeyStore implements AttestedKeyStore {
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
            return new AttestedKey(
                    java.util.Base64.getDecoder().decode(POINT),
                    Collections.singletonList(new byte[] {0x30, 0}));
        }

        @Override
        public byte[] sign(String alias, byte[] data) {
            signed = data;
            return signature;
        }

        @Override
        public void delete(String alias) {}
    }

    private static Request signed(
            FixedKeyStore keys, String method, String target, String body) throws Exception {
        Transport gateway = request -> {
            String text = request.url.contains("/attest/verify")
                    ? "{\"status\":\"attested\"}" : "{\"challenge\":\"vector-challenge-1\"}";
            return new Response(
                    200, Collections.emptyMap(), text.getBytes(StandardCharsets.UTF_8));
        };
        AttestClient client = new AttestClient(
                new Configuration.Builder("https://api.example.com/").build(),
                new Parts(keys, new StateStore.Memory(), gateway, new AppInfo("", "", "")));
        return client.sign(new Request(
                method, "https://api.example.com" + target,
                body == null ? null : Body.of(body)));
    }

    @Claim("fixed requests have fixed client data and headers")
    void vectors() throws Exception {
        String[][] vectors = {
            {"GET", "/header/profile", null,
                "{\"challenge\":\"vector-challenge-1\",\"method\":\"GET\","
                    + "\"path\":\"/header/profile\",\"query\":\"\","
                    + "\"bodySHA256\":\"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\"}"},
            {"post", "/header/transfer?to=7&x=%2F", "{\"amount\":1}",
                "{\"challenge\":\"vector-challenge-1\",\"method\":\"POST\","
                    + "\"path\":\"/header/transfer\",\"query\":\"to=7&x=%2F\","
                    + "\"bodySHA256\":\"wrEeZX4S/RdzWWJ8qJQSAY4idNCHPPv88fxQ9oVYLp4=\"}"},
        };
        for (String[] vector : vectors) {
            FixedKeyStore keys = new FixedKeyStore(new byte[] {0x30, 0x06, 2, 1, 1, 2, 1, 2});
            Request signed = signed(keys, vector[0], vector[1], vector[2]);
            Expect.equal(new String(keys.signed, StandardCharsets.UTF_8), vector[3]);
            Expect.equal(
                    signed.header("X-App-Attest-Client-Data"),
                    java.util.Base64.getEncoder().encodeToString(
                            vector[3].getBytes(StandardCharsets.UTF_8)));
            Expect.equal(signed.header("X-App-Attest-Assertion"), "MAYCAQECAQI=");
            Expect.equal(signed.header("X-App-Attest-Key-Id"), KEY_ID);
        }
    }

    @Claim("a fixed signature holds for fixed client data under the key of the vectors")
    void signature() throws Exception {
        byte[] info = hex(INFO_PREFIX);
        byte[] point = java.util.Base64.getDecoder().decode(POINT);
        byte[] der = new byte[info.length + point.length];
        System.arraycopy(info, 0, der, 0, info.length);
        System.arraycopy(point, 0, der, info.length, point.length);
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initVerify(
                KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(der)));
        FixedKeyStore keys = new FixedKeyStore(hex(SIGNATURE));
        Request signed = signed(keys, "GET", "/header/profile", null);
        signature.update(java.util.Base64.getDecoder().decode(
                signed.header("X-App-Attest-Client-Data")));
        Expect.isTrue(signature.verify(java.util.Base64.getDecoder().decode(
                signed.header("X-App-Attest-Assertion"))));
    }

    private static final String SIGNATURE =
            "30440220788a29ce6e11a16b89f79622add1faa9386a9c6cfe6e5ef87e9501f1bf5ae1"
            + "e702201f087f13e1255cbf9ebdedf12d64f0e0b5b4014dd63c8425b8011454792695ef";

    private static byte[] hex(String text) {
        byte[] bytes = new BigInteger("01" + text, 16).toByteArray();
        return java.util.Arrays.copyOfRange(bytes, 1, bytes.length);
    }

    @Claim("base64 is as Java's own")
    void base64() {
        Random random = new Random(1);
        for (int count = 0; count < 100; count++) {
            byte[] bytes = new byte[count];
            random.nextBytes(bytes);
            String expected = java.util.Base64.getEncoder().encodeToString(bytes);
            Expect.equal(Base64.encode(bytes), expected);
            Expect.equal(
                    Base64.urlSafe(expected),
                    java.util.Base64.getUrlEncoder().withoutPadding().encodeToString(bytes));
        }
    }

    @Claim("JSON is read strictly and written so that it can be read")
    void json() throws Exception {
        String text = "{\"a\":[1,-0.5e+2,true,false,null,{}],\"\\u00e9\\n\":\"\\\"\\\\ü\\u0001\"}";
        Expect.equal(Json.object(Json.write(Json.object(text))), Json.object(text));
        Expect.equal(
                Json.write(Json.object(" { \"a\" : [ 1 , [ ] ] } ")), "{\"a\":[1.0,[]]}");
        String[] malformed = {
            "", "[]", "{", "{}x", "{\"a\":1,\"a\":2}", "{\"a\":01}", "{\"a\":1.}", "{\"a\":.5}",
            "{\"a\":+1}", "{\"a\":NaN}", "{\"a\":1e}", "{a:1}", "{\"a\":\"\n\"}", "{\"a\":'b'}",
            "{\"a\":\"\\x\"}", "{\"a\":\"\\u12g4\"}", "{\"a\":[1,]}", "{\"a\":1,}", "{\"a\" 1}",
            "{\"a\":tru}", "{\"a\":\"", "{\"a\":\"\\u\u0661234\"}",
            "{\"a\":" + String.join("", Collections.nCopies(99, "[")) + "1"
                + String.join("", Collections.nCopies(99, "]")) + "}",
        };
        for (String bad : malformed) {
            Expect.fails(Json.Malformed.class, () -> Json.object(bad));
        }
    }

    @Claim("waits double, have a limit, and take the longer of two")
    void waits() {
        RetryPolicy policy = new RetryPolicy();
        double[] expected = {1, 2, 4, 8, 10, 10};
        for (int index = 0; index < expected.length; index++) {
            Expect.equal(policy.wait(index + 1, null, 10, null, 0), expected[index]);
        }
        Expect.equal(policy.wait(1, 60.0, 10, null, 0), 60.0);
        Expect.equal(policy.wait(1, null, 10, null, 1), 1.25);
        Expect.equal(policy.wait(Integer.MAX_VALUE, null, 1e10, null, 0), Math.pow(2, 30));
    }
}
