package dev.sallyport.client;

import java.io.File;
import java.io.IOException;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;

final class EnrolmentTests extends Site {
    EnrolmentTests() throws IOException {}

    private Object enrol() throws IOException {
        client().enrol();
        return null;
    }

    @Claim("the gateway gets the chain, the key ID and the challenge")
    void messages() throws Exception {
        settings.installation("phone 1/ä");
        AttestClient client = client();
        client.enrol();
        FakeGateway.Seen challenge = gateway.last("/attest/challenge");
        Expect.equal(challenge.query, "installation=phone%201%2F%C3%A4");
        Expect.equal(challenge.header("Accept"), "application/json");
        Map<String, Object> body = Json.object(gateway.last("/attest/verify").text());
        Expect.equal(body.get("platform"), "android");
        Expect.equal(body.get("key_id"), client.keyId());
        Expect.equal(body.get("challenge"), "token-1");
        Expect.equal(((List<?>) body.get("chain")).size(), 2);
        Expect.equal(new String(keys.challenges.get(0)), "token-1");
        Expect.equal(send(client), 200);
        // The answer to the enrolment brought the first challenge.
        Expect.equal(gateway.count("/assert/challenge"), 0);
    }

    @Claim("a challenge of more than 128 bytes is hashed, one of 128 is not")
    void longChallenge() throws Exception {
        gateway.padding = String.join("", Collections.nCopies(121, "x"));
        client().enrol();
        Expect.equal(keys.challenges.get(0).length, 128);
        gateway.padding += "y";
        AttestClient client = client();
        client.reset();
        client.enrol();
        Expect.equal(keys.challenges.get(1).length, 32);
    }

    @Claim("it outlives a launch of the app")
    void launches() throws Exception {
        Expect.equal(send(client()), 200);
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 1);
        Expect.equal(gateway.count("/attest/verify"), 1);
    }

    @Claim("it waits after a state that was not saved, longer each time")
    void unsaved() throws Exception {
        Parts parts = parts();
        boolean[] isFull = {true};
        parts.store = new StateStore() {
            @Override
            public String load() throws IOException {
                return store.load();
            }

            @Override
            public void save(String text) throws IOException {
                if (isFull[0]) {
                    throw new IOException("full");
                }
                store.save(text);
            }
        };
        gateway.observes = true;
        AttestClient client = new AttestClient(settings.build(), parts);
        for (int round = 1; round <= 2; round++) {
            for (int index = 0; index < 5; index++) {
                Expect.equal(send(client), 200);
            }
            Expect.equal(keys.keyCount, round);
            clock.advance(1);
        }
        isFull[0] = false;
        Expect.fails(ClientException.TryLater.class, () -> {
            client.enrol();
            return null;
        });
        clock.advance(1);
        client.enrol();
        Expect.equal(keys.keyCount, 3);
    }

    @Claim("callers at the same time share one")
    void shared() throws Exception {
        AttestClient client = client();
        Expect.equal(together(() -> send(client)), Collections.nCopies(8, 200));
        Expect.equal(keys.keyCount, 1);
        Expect.equal(gateway.count("/attest/verify"), 1);
    }

    @Claim("callers at the same time share its failure")
    void sharedFailure() throws Exception {
        settings.whenUnproved(Configuration.Unproved.FAIL);
        keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
        AttestClient client = client();
        for (Object outcome : together(() -> send(client))) {
            Expect.isTrue(outcome instanceof String);
        }
        Expect.equal(keys.challenges.size(), 1);
        Expect.equal(gateway.count("/api/x"), 0);
    }

    @Claim("it goes on if the thread that began it is interrupted")
    void interrupted() throws Exception {
        AttestClient client = client();
        Thread[] leader = new Thread[1];
        network.before = () -> {
            Thread thread = Thread.currentThread();
            if (thread == leader[0]) {
                thread.interrupt();
            }
        };
        Object[] outcome = new Object[1];
        leader[0] = new Thread(() -> {
            try {
                client.enrol();
            } catch (IOException error) {
                outcome[0] = error;
            }
        });
        leader[0].start();
        client.enrol();
        leader[0].join();
        Expect.isTrue(outcome[0] == null || outcome[0] instanceof java.io.InterruptedIOException);
        Expect.isTrue(client.keyId() != null);
        Expect.equal(send(client), 200);
    }

    @Claim("it waits longer after each transient failure, also over launches of the app")
    void backOff() throws Exception {
        for (int round = 0; round < 3; round++) {
            keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
            Expect.equal(Expect.kind(() -> send(client())), KeyException.Kind.TRANSIENT);
            // Before its time nothing is tried.
            Expect.fails(ClientException.TryLater.class, () -> send(client()));
            Expect.equal(keys.challenges.size(), round + 1);
            clock.advance(Math.pow(2, round) + 0.1);
        }
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 1);
    }

    @Claim("the gateway's advice holds for failures of the phone")
    void advice() throws Exception {
        gateway.advice = ",\"retry\":{\"after\":60,\"backoff\":3,\"longest\":100}";
        long start = clock.now();
        for (double wait : new double[] {60, 100}) {
            keys.failCreating(KeyException.Kind.UNKNOWN, "other");
            Expect.kind(() -> send(client()));
            ClientException.TryLater later =
                    Expect.fails(ClientException.TryLater.class, () -> send(client()));
            Expect.equal((later.until - start) / 1000.0, wait);
            clock.advance(wait);
            start = clock.now();
        }
    }

    @Claim("the same chain is sent again if the gateway's answer was lost")
    void lostAnswer() throws Exception {
        network.lose("/attest/verify");
        Expect.fails(SocketException.class, () -> send(client()));
        clock.advance(20);
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 1);
        List<FakeGateway.Seen> sent = gateway.seen("/attest/verify");
        Expect.equal(sent.get(0).text(), sent.get(1).text());
    }

    @Claim("a new key follows at once if the challenge has expired, and no third")
    void expired() throws Exception {
        FakeGateway.Reply expired =
                FakeGateway.refusal(401, "challenge_expired", "fetch_challenge");
        gateway.script("/attest/verify", expired);
        Expect.equal(send(client()), 200);
        Expect.equal(keys.keyCount, 2);
        // The key that was not enrolled is deleted.
        Expect.equal(keys.keys.size(), 1);

        client().reset();
        gateway.script("/attest/verify", expired, 2);
        Expect.equal(Expect.refused(() -> send(client())), "challenge_expired");
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        Expect.equal(keys.keyCount, 4);
        clock.advance(3601);
        Expect.equal(send(client()), 200);
    }

    @Claim("it waits as long as the gateway says, and makes no key for that")
    void retryAfter() throws Exception {
        gateway.script(
                "/attest/challenge",
                FakeGateway.refusal(429, "rate_limited", "retry_later")
                        .with("Retry-After", "600"));
        Expect.equal(Expect.refused(() -> send(client())), "rate_limited");
        clock.advance(599);
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        Expect.equal(gateway.count("/attest/challenge"), 1);
        Expect.equal(keys.keyCount, 0);
        clock.advance(2);
        Expect.equal(send(client()), 200);
    }

    @Claim("it believes no Retry-After of more than a week")
    void retryAfterMax() throws Exception {
        gateway.script(
                "/attest/challenge",
                FakeGateway.refusal(429, "rate_limited", "retry_later")
                        .with("Retry-After", "4000000000"));
        Expect.refused(() -> send(client()));
        clock.advance(7 * 24 * 3600 + 1);
        Expect.equal(send(client()), 200);
    }

    @Claim("it waits no longer than it was told if the clock was set back since")
    void clockSetBack() throws Exception {
        double year = 365 * 24 * 3600;
        clock.advance(year);
        gateway.script(
                "/attest/challenge",
                FakeGateway.refusal(429, "rate_limited", "retry_later")
                        .with("Retry-After", "600"));
        Expect.refused(() -> send(client()));
        clock.advance(-year);
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        clock.advance(599);
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        clock.advance(2);
        Expect.equal(send(client()), 200);
    }

    @Claim("it stops if the gateway refuses for good")
    void refused() throws Exception {
        gateway.script("/attest/verify", FakeGateway.refusal(403, "attestation_invalid", "none"));
        Expect.equal(Expect.refused(() -> send(client())), "attestation_invalid");
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        Expect.equal(gateway.count("/attest/verify"), 1);
    }

    @Claim("an answer of another server counts as a failure that may pass")
    void otherServer() throws Exception {
        gateway.script("/attest/challenge", new FakeGateway.Reply(200, "<html>"));
        Expect.fails(ClientException.UnexpectedAnswer.class, () -> send(client()));
        clock.advance(1.1);
        Expect.equal(send(client()), 200);
    }

    @Claim("a phone that cannot attest is asked again after hours")
    void unsupported() throws Exception {
        keys.failCreating(KeyException.Kind.UNSUPPORTED, "keyStore16");
        Expect.equal(Expect.kind(this::enrol), KeyException.Kind.UNSUPPORTED);
        Expect.fails(ClientException.Unsupported.class, this::enrol);
        Expect.equal(keys.challenges.size(), 1);
        clock.advance(6 * 3600 + 1);
        Expect.equal(send(client()), 200);
    }

    @Claim("its state is a file that is replaced as a whole; a damaged one counts as none")
    void file() throws Exception {
        Path folder = Files.createTempDirectory("sallyport");
        File file = folder.resolve("state").toFile();
        Parts parts = parts();
        parts.store = new FileStore(file);
        Expect.equal(parts.store.load(), null);
        AttestClient client = new AttestClient(settings.build(), parts);
        Expect.equal(send(client), 200);
        Expect.equal(new AttestClient(settings.build(), parts).keyId(), client.keyId());
        Expect.equal(folder.toFile().list().length, 1);
        for (String text : new String[] {"", "{", "{\"format\":2}", "{\"format\":1}", "[]"}) {
            Files.writeString(file.toPath(), text);
            Expect.equal(new AttestClient(settings.build(), parts).keyId(), null);
        }
        Expect.equal(send(new AttestClient(settings.build(), parts)), 200);
        Expect.equal(keys.keyCount, 2);
        // What lies out of reach is not missing.
        StateStore hidden = new FileStore(new File(file, "state"));
        Expect.fails(IOException.class, hidden::load);
        Files.delete(file.toPath());
        Files.delete(folder);
    }
}
