package dev.sallyport.client;

import java.io.IOException;
import java.net.SocketException;
import java.util.Arrays;

final class UnprovedTests {
    /** The reasons why there is no proof. */
    private enum Reason {
        NOT_DUE, NO_KEY, KEY_CANNOT_SIGN, STORE_IS_LOCKED, UNSUPPORTED, UNSUPPORTED_KEY,
        NO_CHALLENGE
    }

    private static final class Locked implements StateStore {
        @Override
        public String load() throws IOException {
            throw new IOException("locked");
        }

        @Override
        public void save(String text) throws IOException {
            throw new IOException("locked");
        }
    }

    private static AttestClient client(Site site, Reason reason) throws IOException {
        Parts parts = site.parts();
        AttestClient client = new AttestClient(site.settings.build(), parts);
        switch (reason) {
            case NOT_DUE:
                site.gateway.script(
                        "/attest/challenge",
                        FakeGateway.refusal(429, "rate_limited", "retry_later"), 9);
                return client;
            case NO_KEY:
                site.keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
                return client;
            case KEY_CANNOT_SIGN:
                site.keys.failSigning(KeyException.Kind.UNKNOWN, "other", 1);
                return client;
            case STORE_IS_LOCKED:
                parts.store = new Locked();
                return new AttestClient(site.settings.build(), parts);
            case UNSUPPORTED:
                site.keys.isSupported = false;
                return client;
            case UNSUPPORTED_KEY:
                site.keys.failCreating(KeyException.Kind.UNSUPPORTED, "softwareKey");
                return client;
            default:
                client.enrol();
                client.sign(site.request());
                site.gateway.script(
                        "/assert/challenge",
                        FakeGateway.refusal(503, "store_unavailable", "retry_later"), 9);
                return client;
        }
    }

    @Claim("it sends the request without a proof, and a gateway that observes serves it")
    void observe() throws Exception {
        for (Reason reason : Reason.values()) {
            try (Site site = new Site()) {
                site.gateway.observes = true;
                AttestClient client = client(site, reason);
                Request post = Request.post(site.url(), Body.of("{}"));
                Expect.equal(client.send(post).status, 200);
                FakeGateway.Seen seen = site.gateway.last("/api/x");
                Expect.equal(seen.header("X-App-Attest-Assertion"), null);
                Expect.equal(seen.text(), "{}");
                Expect.equal(site.gateway.count("/api/x"), 1);
            }
        }
    }

    @Claim("it tells why there is no proof if the gateway insists on one")
    void enforce() throws Exception {
        Class<?>[] errors = {
            ClientException.Refused.class, KeyException.class, KeyException.class,
            ClientException.State.class, ClientException.Unsupported.class, KeyException.class,
            ClientException.Refused.class
        };
        for (Reason reason : Reason.values()) {
            try (Site site = new Site()) {
                AttestClient client = client(site, reason);
                IOException error =
                        Expect.fails(IOException.class, () -> site.send(client));
                Expect.equal(error.getClass(), errors[reason.ordinal()]);
                Expect.equal(site.gateway.count("/api/x"), 1);
            }
        }
    }

    @Claim("it sends nothing if it is to fail")
    void fail() throws Exception {
        for (Reason reason : Reason.values()) {
            try (Site site = new Site()) {
                site.gateway.observes = true;
                site.settings.whenUnproved(Configuration.Unproved.FAIL);
                AttestClient client = client(site, reason);
                Expect.fails(ClientException.class, () -> site.send(client));
                Expect.equal(site.gateway.count("/api/x"), 0);
            }
        }
    }

    @Claim("a developer token stands in on an emulator")
    void developerToken() throws Exception {
        for (Reason reason : Arrays.asList(Reason.UNSUPPORTED, Reason.UNSUPPORTED_KEY)) {
            try (Site site = new Site()) {
                site.settings.developerToken("developer");
                AttestClient client = client(site, reason);
                for (int index = 0; index < 2; index++) {
                    Expect.equal(site.send(client), 200);
                }
                Expect.equal(site.keys.challenges.size(), reason == Reason.UNSUPPORTED ? 0 : 1);
            }
        }
        try (Site site = new Site()) {
            site.settings.developerToken("developer");
            Expect.equal(site.send(site.client()), 200);
            Expect.equal(site.gateway.last("/api/x").header("X-App-Attest-Token"), null);
        }
    }

    @Claim("it goes on without a proof while its enrolment waits, and proves itself after that")
    void waiting() throws Exception {
        try (Site site = new Site()) {
            site.gateway.observes = true;
            AttestClient client = client(site, Reason.NO_KEY);
            for (int index = 0; index < 3; index++) {
                Expect.equal(site.send(client), 200);
            }
            Expect.equal(site.keys.challenges.size(), 1);
            site.clock.advance(2);
            Expect.equal(site.send(client), 200);
            FakeGateway.Seen seen = site.gateway.last("/api/x");
            Expect.isTrue(seen.header("X-App-Attest-Assertion") != null);
        }
    }

    @Claim("it goes on without a session token, too")
    void token() throws Exception {
        try (Site site = new Site()) {
            site.gateway.observes = true;
            AttestClient client = client(site, Reason.NO_KEY);
            Response answer = client.send(site.request(), AttestClient.Proof.SESSION_TOKEN);
            Expect.equal(answer.status, 200);
            Expect.equal(site.gateway.count("/assert/token"), 0);
        }
    }

    @Claim("it sends nothing that the network would not carry either")
    void offline() throws Exception {
        try (Site site = new Site()) {
            site.gateway.observes = true;
            site.network.lose("/attest/challenge");
            Expect.fails(SocketException.class, () -> site.send(site.client()));
            Expect.equal(site.gateway.count("/api/x"), 0);
        }
    }

    @Claim("it tries again later as with a proof")
    void busy() throws Exception {
        try (Site site = new Site()) {
            site.gateway.observes = true;
            AttestClient client = client(site, Reason.UNSUPPORTED);
            site.gateway.script(
                    "/api/x", FakeGateway.refusal(503, "gateway_busy", "retry_later")
                            .with("Retry-After", "4"));
            Expect.equal(site.send(client), 200);
            Expect.equal(site.clock.sleeps, Arrays.asList(4.0));
        }
    }
}
