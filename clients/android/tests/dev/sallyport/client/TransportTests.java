package dev.sallyport.client;

import java.io.IOException;
import java.io.OutputStream;

final class TransportTests extends Site {
    private final ConnectionTransport transport = new ConnectionTransport();

    TransportTests() throws IOException {}

    private AttestClient connected() {
        Parts parts = parts();
        parts.transport = transport;
        return new AttestClient(settings.build(), parts);
    }

    @Claim("a client enrols and sends through HttpURLConnection")
    void enrolAndSend() throws Exception {
        AttestClient client = connected();
        Expect.equal(send(client), 200);
        Response answer = client.send(
                Request.post(url("/api/x?a=b"), Body.of("hello"))
                        .withHeader("Content-Type", "text/plain"));
        Expect.equal(answer.status, 200);
        Expect.equal(answer.text(), "served");
        Expect.equal(answer.header("x-app-attest-CHALLENGE"), "token-4");
        Expect.equal(gateway.last("/api/x").header("Content-Length"), "5");
        Expect.equal(gateway.last("/api/x").header("Content-Type"), "text/plain");
        Expect.equal(client.send(new Request("DELETE", url(), null)).status, 200);
        Expect.equal(client.send(new Request("HEAD", url(), null)).status, 200);
        Expect.equal(client.send(Request.post(url(), null)).status, 200);
        Expect.equal(gateway.last("/api/x").header("Content-Length"), "0");
    }

    @Claim("a refused upload is signed and sent again")
    void refused() throws Exception {
        AttestClient client = connected();
        client.enrol();
        gateway.forgetChallenges();
        Expect.equal(client.send(Request.post(url(), Body.of("hello"))).status, 200);
        Expect.equal(gateway.count("/api/x"), 2);
        Expect.equal(gateway.count("/assert/challenge"), 0);
    }

    @Claim("a body of unknown length is sent in chunks")
    void chunks() throws Exception {
        Body body = new Body() {
            @Override
            public long length() {
                return -1;
            }

            @Override
            public void writeTo(OutputStream out) throws IOException {
                out.write(new byte[100_000]);
            }
        };
        Expect.equal(connected().send(new Request("PUT", url(), body)).status, 200);
        Expect.equal(gateway.last("/api/x").body.length, 100_000);
        Expect.equal(gateway.last("/api/x").header("Transfer-Encoding"), "chunked");
    }

    @Claim("a refusal with a document is read whole, with every status")
    void documents() throws Exception {
        gateway.script("/api/x", FakeGateway.refusal(403, "key_revoked", "none"));
        Expect.equal(Expect.refused(() -> connected().send(Request.post(url(), Body.of("x")))),
                "key_revoked");
        gateway.script("/api/x", FakeGateway.refusal(401, "token_invalid", "none"));
        Expect.equal(Expect.refused(() -> send(connected())), "token_invalid");
    }

    @Claim("no redirection is followed")
    void redirection() throws Exception {
        gateway.script(
                "/api/x", new FakeGateway.Reply(302, "").with("Location", url("/api/elsewhere")));
        Expect.equal(send(connected()), 302);
        Expect.equal(gateway.count("/api/elsewhere"), 0);
    }

    @Claim("URLs that platforms send in different spellings are not sent")
    void spellings() throws Exception {
        AttestClient client = connected();
        String[] targets = {
            "/api/a b", "/api/ä", "/api/a|b", "/api/x?q=it's", "/api/./x", "/api/../x",
            "/api/%2e%2E/x", "/api/.", "/api/x?q={a}"
        };
        for (String target : targets) {
            Expect.fails(
                    ClientException.InvalidRequest.class,
                    () -> client.send(Request.get(url(target))));
        }
        Expect.equal(client.send(Request.get(url("/api/.x..y/...?q=/../"))).status, 200);
        Request get = new Request("GET", url(), Body.of("x"));
        Expect.fails(ClientException.InvalidRequest.class, () -> client.send(get));
    }
}
