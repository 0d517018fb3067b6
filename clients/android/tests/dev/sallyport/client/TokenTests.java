package dev.sallyport.client;

import java.io.IOException;
import java.util.Collections;
import java.util.concurrent.CyclicBarrier;

final class TokenTests extends Site {
    TokenTests() throws IOException {}

    private int sendToken(AttestClient client) throws IOException {
        return client.send(request(), AttestClient.Proof.SESSION_TOKEN).status;
    }

    @Claim("one assertion pays for many requests, also at the same time")
    void shared() throws Exception {
        AttestClient client = client();
        Expect.equal(together(() -> sendToken(client)), Collections.nCopies(8, 200));
        Expect.equal(sendToken(client), 200);
        Expect.equal(gateway.count("/assert/token"), 1);
        Expect.equal(keys.signatureCount, 1);
        Expect.equal(gateway.last("/api/x").header("X-App-Attest-Assertion"), null);
    }

    @Claim("another token is fetched before the end of its life, and after a new key")
    void life() throws Exception {
        AttestClient client = client();
        SessionToken token = client.sessionToken(null);
        Expect.isTrue(client.sessionToken(null) == token);
        Expect.equal(token.until - clock.now(), 270_000L);
        clock.advance(271);
        Expect.isTrue(client.sessionToken(null) != token);
        client.reset();
        client.sessionToken(null);
        Expect.equal(gateway.count("/assert/token"), 3);
    }

    @Claim("a token is replaced once if several requests are refused for it")
    void replaced() throws Exception {
        AttestClient client = client();
        client.sessionToken(null);
        gateway.forgetTokens();
        gateway.meeting = new CyclicBarrier(8);
        Expect.equal(together(() -> sendToken(client)), Collections.nCopies(8, 200));
        Expect.equal(gateway.count("/assert/token"), 2);
    }

    @Claim("a token that another sender says was refused is forgotten")
    void refusedElsewhere() throws Exception {
        AttestClient client = client();
        SessionToken token = client.sessionToken(null);
        Expect.isTrue(client.sessionToken(null, "another") == token);
        Expect.isTrue(client.sessionToken(null, token.text) != token);
        Expect.equal(gateway.count("/assert/token"), 2);
    }

    @Claim("a token of a key that was given up meanwhile is not kept")
    void lateToken() throws Exception {
        AttestClient[] client = new AttestClient[1];
        boolean[] isFirst = {true};
        Parts parts = parts();
        parts.transport = request -> {
            Response response = network.send(request);
            if (request.url.endsWith("/assert/token") && isFirst[0]) {
                isFirst[0] = false;
                client[0].reset();
            }
            return response;
        };
        client[0] = new AttestClient(settings.build(), parts);
        SessionToken token = client[0].sessionToken(null);
        Expect.isTrue(client[0].sessionToken(null) != token);
        Expect.equal(gateway.count("/assert/token"), 2);
    }

    @Claim("a request is signed if a token is not enough")
    void notEnough() throws Exception {
        AttestClient client = client();
        gateway.script("/api/x", FakeGateway.refusal(401, "assertion_required", "sign_again"));
        Expect.equal(sendToken(client), 200);
        Expect.isTrue(gateway.last("/api/x").header("X-App-Attest-Assertion") != null);
    }

    @Claim("a token is for the value of the header that it is bound to")
    void bound() throws Exception {
        gateway.bindsTokens = true;
        settings.sessionTokenHeader("Authorization");
        AttestClient client = client();
        for (String user : new String[] {"ann", "bob"}) {
            Request request = request().withHeader("authorization", user);
            Expect.equal(
                    client.send(request, AttestClient.Proof.SESSION_TOKEN).status, 200);
        }
        Expect.equal(gateway.count("/assert/token"), 2);
        Expect.isTrue(!client.sessionToken("ann").text.equals(client.sessionToken("bob").text));
    }

    @Claim("an answer that is no token is not taken for one")
    void other() throws Exception {
        gateway.script("/assert/token", new FakeGateway.Reply(200, "{}"));
        Expect.fails(
                ClientException.UnexpectedAnswer.class, () -> client().sessionToken(null));
    }

    @Claim("a phone that cannot attest gets none")
    void unsupported() throws Exception {
        keys.isSupported = false;
        Expect.fails(ClientException.Unsupported.class, () -> client().sessionToken(null));
        Expect.equal(gateway.requests.size(), 0);
    }
}
