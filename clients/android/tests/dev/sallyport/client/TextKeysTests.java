package dev.sallyport.client;

import java.nio.charset.StandardCharsets;
import java.security.KeyPair;
import java.security.Signature;
import java.util.Arrays;
import java.util.List;

/** The key store for clients in other languages. */
final class TextKeysTests {
    private final FakeKeyStore store = new FakeKeyStore();
    private final TextKeys keys = new TextKeys(store);

    @Claim("a key is made for the bytes of a challenge, and signs texts")
    void texts() throws Exception {
        List<String> texts = keys.create("alias", Base64.encode(new byte[] {1, 2, 3, 4}));
        KeyPair pair = store.keys.get("alias");
        Expect.equal(texts.get(0), ClientData.keyId(FakeKeyStore.point(pair)));
        Expect.equal(texts.size(), 3);
        Expect.isTrue(Arrays.equals(store.challenges.get(0), new byte[] {1, 2, 3, 4}));
        String signed = keys.sign("alias", "{\"a\":\"\u00e9\"}");
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initVerify(pair.getPublic());
        signature.update("{\"a\":\"\u00e9\"}".getBytes(StandardCharsets.UTF_8));
        Expect.isTrue(signature.verify(Base64.decode(signed)));
        keys.delete("alias");
        Expect.equal(
                TextKeys.code(Expect.fails(KeyException.class, () -> keys.sign("alias", ""))),
                "lost:keyMissing");
    }

    @Claim("base64 is decoded strictly")
    void base64() {
        for (int length = 0; length < 9; length++) {
            byte[] bytes = Arrays.copyOf(new byte[] {-1, 0, 127, -128, 62, 63, 3, 9}, length);
            Expect.isTrue(Arrays.equals(Base64.decode(Base64.encode(bytes)), bytes));
        }
        String[] bad = {"A", "AA", "AAA", "A===", "AA=A", "AA==AA==", "A-A=", " "};
        for (String text : bad) {
            Expect.equal(Base64.decode(text), null);
        }
        Expect.equal(
                TextKeys.code(
                        Expect.fails(KeyException.class, () -> keys.create("alias", "no!"))),
                "unknown:invalidChallenge");
    }
}
