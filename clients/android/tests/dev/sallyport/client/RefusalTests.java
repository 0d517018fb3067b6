package dev.sallyport.client;

import java.io.IOException;
import java.net.SocketException;
import java.util.Arrays;

final class RefusalTests extends Site {
    private final AttestClient client = client();

    RefusalTests() throws IOException {
        client.enrol();
    }

    @Claim("it signs again with the challenge that the refusal brings")
    void signAgain() throws Exception {
        gateway.forgetChallenges();
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/api/x"), 2);
        Expect.equal(gateway.count("/assert/challenge"), 0);
        Expect.equal(keys.keyCount, 1);
    }

    @Claim("it fetches a challenge if the refusal brings none")
    void fetchChallenge() throws Exception {
        gateway.script("/api/x", FakeGateway.refusal(401, "challenge_required", "fetch_challenge"));
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/assert/challenge"), 1);
        String keyId = client.keyId().replace('+', '-').replace('/', '_').replace("=", "");
        Expect.equal(gateway.last("/assert/challenge").query, "key_id=" + keyId);
    }

    @Claim("it reads a refusal of HEAD from its headers, for it has no body")
    void head() throws Exception {
        Request head = new Request("HEAD", url(), null);
        gateway.forgetChallenges();
        Expect.equal(client.send(head).status, 200);
        Expect.equal(gateway.count("/api/x"), 2);
        gateway.script("/api/x", new FakeGateway.Reply(401, "").with(
                "WWW-Authenticate", "Basic realm=\"x\", appattest error=\"key_unknown\""));
        Expect.equal(client.send(head).status, 200);
        Expect.equal(keys.keyCount, 2);
        gateway.script("/api/x", new FakeGateway.Reply(401, "").with(
                "WWW-Authenticate", "AppAttest error=\"something_new\""));
        Expect.equal(Expect.refused(() -> client.send(head)), "something_new");
        // The API's own is an answer like any other.
        gateway.script(
                "/api/x", new FakeGateway.Reply(401, "").with("WWW-Authenticate", "Bearer"));
        Expect.equal(client.send(head).status, 401);
    }

    @Claim("it gives up after three attempts")
    void attempts() throws Exception {
        gateway.script(
                "/api/x", FakeGateway.refusal(401, "challenge_expired", "sign_again"), 9);
        ClientException.Refused error =
                Expect.fails(ClientException.Refused.class, () -> send(client));
        Expect.equal(error.refusal.code, "challenge_expired");
        Expect.equal(error.refusal.requestId, "r1");
        Expect.equal(gateway.count("/api/x"), 3);
    }

    @Claim("it waits as long as it is told, and no longer than it may")
    void retryLater() throws Exception {
        gateway.script(
                "/api/x", FakeGateway.refusal(503, "store_unavailable", "retry_later")
                        .with("Retry-After", "4"));
        gateway.script("/api/x", FakeGateway.refusal(503, "gateway_busy", "retry_later"));
        Expect.equal(send(client), 200);
        Expect.equal(clock.sleeps, Arrays.asList(4.0, 2.0));
        gateway.script(
                "/api/x", FakeGateway.refusal(429, "rate_limited", "retry_later")
                        .with("Retry-After", "60"));
        Expect.equal(Expect.refused(() -> send(client)), "rate_limited");
        Expect.equal(clock.sleeps.size(), 2);
    }

    @Claim("it waits and gives up as the answer says, whatever its own settings are")
    void obeys() throws Exception {
        gateway.script("/api/x", FakeGateway.refusal(
                503, "gateway_busy", "retry_later",
                "{\"after\":3,\"backoff\":1.5,\"max\":4,\"longest\":5}"), 5);
        Expect.refused(() -> send(client));
        Expect.equal(gateway.count("/api/x"), 5);
        Expect.equal(clock.sleeps, Arrays.asList(3.0, 4.5, 5.0, 5.0));
        gateway.script("/api/x", FakeGateway.refusal(
                401, "challenge_expired", "sign_again", "{\"after\":0,\"max\":0}"));
        Expect.refused(() -> send(client));
        Expect.equal(gateway.count("/api/x"), 6);
    }

    @Claim("it takes no advice that makes no sense")
    void absurd() throws Exception {
        gateway.script("/api/x", FakeGateway.refusal(
                503, "gateway_busy", "retry_later",
                "{\"after\":-5,\"backoff\":-1,\"max\":1e6,\"longest\":1e999}"), 10);
        Expect.refused(() -> send(client));
        Expect.equal(gateway.count("/api/x"), 10);
        Expect.equal(clock.sleeps.size(), 0);
    }

    @Claim("it repeats what the API may have done only if that is harmless")
    void upstreamFailed() throws Exception {
        FakeGateway.Reply failed = FakeGateway.refusal(502, "upstream_failed", "retry_later");
        gateway.script("/api/x", failed, 2);
        Expect.refused(() -> client.send(Request.post(url(), Body.of("x"))));
        Expect.equal(gateway.count("/api/x"), 1);
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/api/x"), 3);
    }

    @Claim("it never sends again what got no answer")
    void lost() throws Exception {
        network.lose("/api/x");
        Request post = Request.post(url(), Body.of("x"));
        Expect.fails(SocketException.class, () -> client.send(post));
        Expect.equal(gateway.count("/api/x"), 1);
        Expect.equal(client.send(post).status, 200);
    }

    @Claim("it shows what it cannot change, and passes on what it does not know")
    void hopeless() throws Exception {
        for (String action : new String[] {"none", "update_app"}) {
            gateway.script("/api/x", FakeGateway.refusal(403, "some_code", action));
            Expect.equal(Expect.refused(() -> send(client)), "some_code");
        }
        gateway.script("/api/x", FakeGateway.refusal(403, "some_code", "dance"));
        Expect.equal(send(client), 403);
        // The API's own problem.
        gateway.script("/api/x", new FakeGateway.Reply(400, "{\"title\":\"no\"}")
                .with("Content-Type", "application/problem+json"));
        Expect.equal(send(client), 400);
        Expect.equal(gateway.count("/api/x"), 4);
    }

    @Claim("an answer may advise to update the app")
    void update() throws Exception {
        gateway.script(
                "/api/x", new FakeGateway.Reply(200, "").with("x-app-attest-action", "update_app"));
        Expect.isTrue(client.send(request()).advisesUpdate());
        Expect.isTrue(!client.send(request()).advisesUpdate());
    }
}
