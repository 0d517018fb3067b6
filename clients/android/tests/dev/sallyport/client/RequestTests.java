package dev.sallyport.client;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;

final class RequestTests extends Site {
    RequestTests() throws IOException {}

    @Claim("each answer's challenge is used for the next request, once")
    void challenges() throws Exception {
        AttestClient client = client();
        for (int index = 0; index < 5; index++) {
            Expect.equal(send(client), 200);
        }
        Expect.equal(gateway.count("/assert/challenge"), 0);
        Expect.equal(gateway.count("/api/x"), 5);
        // Requests at once take one each.
        Expect.equal(together(() -> send(client)), Collections.nCopies(8, 200));
        Expect.equal(gateway.count("/api/x"), 13);
        Expect.equal(together(() -> send(client)), Collections.nCopies(8, 200));
        // Eight at once never need more than eight.
        Expect.isTrue(gateway.count("/assert/challenge") <= 7);
    }

    @Claim("a challenge that is too old is not tried")
    void oldChallenge() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        clock.advance(111);
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/assert/challenge"), 1);
        clock.advance(109);
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/assert/challenge"), 1);
    }

    @Claim("the target is signed as it goes over the wire")
    void targets() throws Exception {
        AttestClient client = client();
        String[] targets = {
            "/api/x", "/api/%41b%20c?to=7&x=%2F", "/api/?", "/api/a+b?q=a+b", "?q=1", ""
        };
        for (String target : targets) {
            Response answer =
                    client.send(Request.post(url(target), Body.of("hello")));
            Expect.equal(answer.status, 200);
        }
        Expect.equal(gateway.last("/api/x").text(), "hello");
        Expect.equal(client.send(Request.get(url("/api/x#part"))).status, 200);
        for (String url : new String[] {"ftp://x/", "x", "http://", "https:///a"}) {
            Expect.fails(
                    ClientException.InvalidRequest.class, () -> client.send(Request.get(url)));
        }
    }

    @Claim("nothing is proved to another server")
    void otherServer() throws Exception {
        AttestClient client = client();
        for (String origin : new String[] {
            "https://127.0.0.1", "http://localhost", "http://127.0.0.1:1", gateway.url() + "@evil"
        }) {
            Request other = Request.get(origin + "/api/x");
            Expect.fails(ClientException.InvalidRequest.class, () -> client.send(other));
            Expect.fails(
                    ClientException.InvalidRequest.class,
                    () -> client.send(other, AttestClient.Proof.SESSION_TOKEN));
            Expect.fails(ClientException.InvalidRequest.class, () -> client.sign(other));
        }
        Expect.equal(gateway.requests.size(), 0);
        Expect.equal(keys.keyCount, 0);
    }

    @Claim("a body is read in pieces: once for its digest, and for each attempt")
    void streaming() throws Exception {
        int[] count = new int[1];
        Body body = new Body() {
            @Override
            public long length() {
                return -1;
            }

            @Override
            public void writeTo(OutputStream out) throws IOException {
                count[0]++;
                byte[] piece = new byte[1000];
                Arrays.fill(piece, (byte) 7);
                for (int index = 0; index < 300; index++) {
                    out.write(piece);
                }
                out.write(7);
            }
        };
        Expect.equal(client().send(Request.post(url(), body)).status, 200);
        Expect.equal(gateway.last("/api/x").body.length, 300_001);
        Expect.equal(count[0], 2);
    }

    @Claim("a body may be a file")
    void file() throws Exception {
        File file = File.createTempFile("sallyport", "body");
        try {
            byte[] bytes = new byte[200_001];
            Arrays.fill(bytes, (byte) 9);
            Files.write(file.toPath(), bytes);
            Expect.equal(client().send(Request.post(url(), Body.of(file))).status, 200);
            Expect.isTrue(Arrays.equals(gateway.last("/api/x").body, bytes));
        } finally {
            file.delete();
        }
    }

    @Claim("a body that cannot be read spends no challenge")
    void missingFile() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        Request request = Request.post(url(), Body.of(new File("/nonexistent/file")));
        Expect.fails(IOException.class, () -> client.send(request));
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/assert/challenge"), 0);
    }

    @Claim("a body may be signed itself, and its other bytes stay as they are")
    void bodyShape() throws Exception {
        gateway.signsBody = true;
        settings.signBody("challenge");
        AttestClient client = client();
        for (String text : new String[] {"{}", " {\"amount\": 0.10, \"note\":\"{\\\"é\"}"}) {
            Expect.equal(client.send(Request.post(url(), Body.of(text))).status, 200);
            String sent = gateway.last("/api/x").text();
            Expect.isTrue(sent.endsWith(text.substring(text.indexOf('{') + 1)));
            Expect.isTrue(Json.object(sent).containsKey("challenge"));
        }
        for (String text : new String[] {"[]", "hello", "{\"challenge\":1}", "{\"a\":1,\"a\":2}"}) {
            Expect.fails(
                    ClientException.InvalidRequest.class,
                    () -> client.send(Request.post(url(), Body.of(text))));
        }
        Expect.equal(gateway.count("/api/x"), 2);
    }

    @Claim("another sender may carry a signed request, and brings the answer back")
    void signed() throws Exception {
        AttestClient client = client();
        Request signed = client.sign(request());
        Response answer = network.send(signed);
        Expect.equal(answer.status, 200);
        Expect.equal(client.receive(answer), null);
        Expect.equal(client.receive(network.send(signed)).code, "challenge_expired");
        Expect.equal(gateway.count("/assert/challenge"), 0);
        Expect.equal(send(client), 200);
        Expect.equal(gateway.count("/assert/challenge"), 0);
    }

    @Claim("the refusal of a request that another sender carried is followed")
    void followed() throws Exception {
        AttestClient client = client();
        Request signed = client.sign(request());
        gateway.script("/api/x", FakeGateway.refusal(401, "key_unknown", "attest_again"));
        Refusal refusal = client.receive(network.send(signed));
        Expect.isTrue(!client.follow(refusal, signed, 3));
        Expect.isTrue(!client.follow(refusal, request(), 1));
        Expect.fails(
                ClientException.InvalidRequest.class,
                () -> client.follow(refusal, Request.get("https://other.example/"), 1));
        Expect.isTrue(client.keyId() != null);
        Expect.isTrue(client.follow(refusal, signed, 1));
        Expect.equal(client.keyId(), null);
        Request again = client.sign(request());
        Expect.equal(keys.keyCount, 2);
        Expect.isTrue(!client.follow(refusal, again, 2));
        Expect.equal(network.send(again).status, 200);
        SessionToken token = client.sessionToken(null);
        gateway.script("/api/x", FakeGateway.refusal(401, "token_invalid", "sign_again"));
        Request sent = request().withHeader(SessionToken.HEADER_NAME, token.text);
        Expect.isTrue(client.follow(client.receive(network.send(sent)), sent, 1));
        Expect.isTrue(client.sessionToken(null) != token);
    }

    @Claim("headers of the app stay, and its own proof is replaced")
    void headers() throws Exception {
        Request request = request().withHeader("X-Mine", "1")
                .withHeader("x-app-attest-assertion", "old");
        Expect.equal(client().send(request).status, 200);
        Expect.equal(gateway.last("/api/x").header("X-Mine"), "1");
    }

    @Claim("the gateway's names of headers are used, as its document tells them")
    void discovery() throws Exception {
        gateway.script("/.well-known/app-attest", new FakeGateway.Reply(
                200, "{\"format\":1,\"base\":\"/\",\"headers\":{\"assertion\":\"x-a\","
                        + "\"client_data\":\"x-c\",\"key_id\":\"x-k\"},\"more\":[1]}"));
        Configuration configuration = Discovery.ask(gateway.url(), network).build();
        Expect.equal(configuration.gateway, gateway.url());
        Request signed = new AttestClient(configuration, parts()).sign(request());
        Expect.isTrue(signed.header("X-A") != null && signed.header("X-C") != null);
        Expect.isTrue(signed.header("X-K") != null);
        gateway.script("/.well-known/app-attest", new FakeGateway.Reply(
                200, "{\"format\":1,\"base\":\"/gate/\","
                        + "\"session_token_bound_to\":\"authorization\","
                        + "\"headers\":{\"assertion\":\"a\",\"client_data\":\"c\","
                        + "\"key_id\":\"k\"}}"));
        configuration = Discovery.ask(gateway.url(), network).build();
        Expect.equal(configuration.gateway, gateway.url() + "/gate");
        Expect.equal(configuration.sessionTokenHeader, "authorization");
        gateway.script("/.well-known/app-attest", new FakeGateway.Reply(200, "{\"format\":2}"));
        Expect.fails(
                ClientException.UnexpectedAnswer.class,
                () -> Discovery.ask(gateway.url(), network));
    }
}
