package dev.sallyport.client;

import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.CyclicBarrier;

final class KeyTests extends Site {
    KeyTests() throws IOException {}

    @Claim("a key that is gone is made anew once, and not again so soon")
    void lost() throws Exception {
        Expect.equal(send(client()), 200);
        keys.loseKeys();
        Expect.equal(send(client()), 200);
        Expect.equal(gateway.count("/attest/verify"), 2);
        keys.loseKeys();
        Expect.equal(Expect.kind(() -> send(client())), KeyException.Kind.LOST);
        clock.advance(3601);
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 3);
    }

    @Claim("a state that a backup restored leads to a new key")
    void restored() throws Exception {
        Expect.equal(send(client()), 200);
        String old = client().keyId();
        // Another phone, which has the state and not the key.
        try (Site other = new Site()) {
            other.store.save(store.load());
            Expect.equal(other.client().keyId(), old);
            Expect.equal(other.send(other.client()), 200);
            Expect.isTrue(!other.client().keyId().equals(old));
            Expect.equal(other.keys.keyCount, 1);
        }
    }

    @Claim("requests that are refused together for a lost key are signed by one new key")
    void refusedTogether() throws Exception {
        AttestClient client = client();
        client.enrol();
        gateway.forgetKeys();
        gateway.meeting = new CyclicBarrier(8);
        Expect.equal(together(() -> send(client)), Collections.nCopies(8, 200));
        Expect.equal(keys.keyCount, 2);
        Expect.equal(gateway.count("/api/x"), 16);
    }

    @Claim("requests that the phone cannot sign by a lost key are signed by one new key")
    void lostTogether() throws Exception {
        AttestClient client = client();
        client.enrol();
        keys.loseKeys();
        keys.meeting = new CyclicBarrier(8);
        Expect.equal(together(() -> send(client)), Collections.nCopies(8, 200));
        Expect.equal(keys.keyCount, 2);
        Expect.equal(gateway.count("/attest/verify"), 2);
    }

    @Claim("a key is replaced after three failures to sign in a row, also over launches of the app")
    void failures() throws Exception {
        Expect.equal(send(client()), 200);
        for (int round = 0; round < 2; round++) {
            for (int index = 0; index < 2; index++) {
                keys.failSigning(KeyException.Kind.UNKNOWN, "keyStore10", 1);
                Expect.equal(
                        Expect.kind(() -> client().sign(request())), KeyException.Kind.UNKNOWN);
            }
            // A signature in between begins the count anew.
            if (round == 0) {
                client().sign(request());
            }
        }
        Expect.equal(keys.keyCount, 1);
        keys.failSigning(KeyException.Kind.UNKNOWN, "keyStore10", 1);
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 2);
        for (int index = 0; index < 4; index++) {
            keys.failSigning(KeyException.Kind.UNKNOWN, "keyStore10", 1);
            Expect.kind(() -> client().sign(request()));
        }
        Expect.equal(keys.keyCount, 2);
    }

    @Claim("a key stays if the key store fails for a while, or for several requests at once")
    void innocent() throws Exception {
        AttestClient client = client();
        client.enrol();
        for (int index = 0; index < 9; index++) {
            keys.failSigning(KeyException.Kind.TRANSIENT, "keyStore4", 1);
            Expect.equal(
                    Expect.kind(() -> client.sign(request())), KeyException.Kind.TRANSIENT);
        }
        keys.failSigning(KeyException.Kind.UNKNOWN, "other", 8);
        keys.meeting = new CyclicBarrier(8);
        together(() -> client.sign(request()));
        Expect.equal(send(client), 200);
        Expect.equal(keys.keyCount, 1);
    }

    @Claim("the gateway's word makes one new key, and no second before its time")
    void attestAgain() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        double[] waits = {0, 50, 20};
        int[] counts = {2, 2, 3};
        for (int round = 0; round < 3; round++) {
            clock.advance(waits[round]);
            gateway.script("/api/x", FakeGateway.refusal(
                    401, "key_unknown", "attest_again",
                    "{\"after\":0,\"max\":2,\"new_key_after\":60}"));
            if (round == 1) {
                Expect.equal(Expect.refused(() -> send(client)), "key_unknown");
            } else {
                Expect.equal(send(client), 200);
            }
            Expect.equal(keys.keyCount, counts[round]);
        }
    }

    @Claim("a new key takes another alias than the one before, which is deleted then")
    void aliases() throws Exception {
        settings.keyAlias("bank");
        AttestClient client = client();
        client.enrol();
        Expect.equal(keys.keys.keySet(), Collections.singleton("bank 1"));
        gateway.forgetKeys();
        Expect.equal(send(client), 200);
        Expect.equal(keys.keys.keySet(), Collections.singleton("bank 0"));
    }

    @Claim("everything is forgotten at the app's word, with all waits")
    void reset() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        client.reset();
        Expect.equal(client.keyId(), null);
        Expect.isTrue(keys.keys.isEmpty());
        keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
        Expect.kind(() -> send(client));
        Expect.fails(ClientException.TryLater.class, () -> send(client));
        client.reset();
        Expect.equal(send(client), 200);
        // It counts as a new key: the client makes no further one by itself so soon.
        gateway.script("/api/x", FakeGateway.refusal(401, "key_unknown", "attest_again"));
        Expect.refused(() -> send(client));
        Expect.equal(keys.keyCount, 2);
    }

    @Claim("an enrolment on its way does not bring a forgotten key back")
    void resetMeanwhile() throws Exception {
        AttestClient client = client();
        together(() -> {
            client.enrol();
            client.reset();
            return send(client);
        });
        Expect.equal(send(client), 200);
        Expect.equal(client.keyId(), client().keyId());
        Expect.equal(keys.keys.size(), 1);
    }
}
