package dev.sallyport.client;

import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Tests against a real gateway, whose API answers with what it learns of the sender.
 *
 * <p>The gateway enforces on {@code /api/} and takes session tokens on {@code /chatty/}.
 */
public final class GatewayTests {
    private static String url;
    private static String sallyport;
    private static String file;
    private static String[] phoneWords;

    private final LabPhone phone =
            new LabPhone(phoneWords[0], phoneWords[1], phoneWords[2], phoneWords[3]);
    private final Network network = new Network();
    private final TestClock clock = new TestClock();
    private final StateStore.Memory store = new StateStore.Memory();

    /**
     * @param arguments The gateway's URL, the command {@code sallyport}, the gateway's
     *     configuration, and the arguments of {@link LabPhone}.
     */
    public static void main(String[] arguments) {
        url = arguments[0];
        sallyport = arguments[1];
        file = arguments[2];
        phoneWords = Arrays.copyOfRange(arguments, 3, 7);
        AllTests.run(GatewayTests.class);
    }

    /** The transport of phones, with a fault in the next request to a path. */
    private static final class Network implements Transport {
        /** A way in which a network or an attacker changes an exchange. */
        interface Fault {
            Response send(Request request, Transport real) throws IOException;
        }

        private final Transport real = new ConnectionTransport();
        private final List<String> paths = Collections.synchronizedList(new ArrayList<>());
        private String place;
        private Fault fault;

        synchronized void meet(String path, Fault fault) {
            place = path;
            this.fault = fault;
        }

        private synchronized Fault take(String path) {
            Fault taken = path.equals(place) ? fault : null;
            if (taken != null) {
                fault = null;
            }
            return taken;
        }

        int count(String path) {
            return Collections.frequency(paths, path);
        }

        @Override
        public Response send(Request request) throws IOException {
            String path = Target.of(request.url).path;
            paths.add(path);
            Fault taken = take(path);
            return taken == null ? real.send(request) : taken.send(request, real);
        }
    }

    /** A client as at a launch of the app. */
    private AttestClient client() {
        if (FakeProvider.hardware != phone) {
            phone.switchOn();
        }
        Parts parts = new Parts(
                new DeviceKeyStore(), store, network,
                new AppInfo("com.example.app", "410", "14"));
        parts.clock = clock;
        return new AttestClient(new Configuration.Builder(url).build(), parts);
    }

    private static Request post(String body) {
        return Request.post(url + "/api/transfer?to=7", Body.of(body));
    }

    private static String learned(AttestClient client, String level) throws IOException {
        return "verified attested android " + level + " " + client.keyId();
    }

    private void expectAccepted(AttestClient client, String body, String level)
            throws IOException {
        Response response = client.send(post(body));
        Expect.equal(response.status, 200);
        Expect.equal(response.text(), learned(client, level) + " " + body);
    }

    @Claim("a key in StrongBox enrols, and each answer brings the next request's challenge")
    void enrolled() throws Exception {
        AttestClient client = client();
        for (int number = 0; number < 5; number++) {
            expectAccepted(client, "{\"amount\":" + number + "}", "strongbox");
        }
        Expect.equal(
                client.send(Request.get(url + "/api/list?of=all&x=%2F")).text(),
                learned(client, "strongbox") + " ");
        expectAccepted(client(), "after another launch", "strongbox");
        Expect.equal(phone.keyCount, 1);
        // The first launch got its challenge by the enrolment, the second has none.
        Expect.equal(network.count("/assert/challenge"), 1);
        Expect.equal(network.count("/attest/verify"), 1);
    }

    @Claim("a phone without StrongBox enrols a key in the trusted environment")
    void trustedEnvironment() throws Exception {
        phone.hasStrongBox = false;
        expectAccepted(client(), "{}", "tee");
    }

    @Claim("requests may be sent at the same time, each with a challenge of its own")
    void together() throws Exception {
        AttestClient client = client();
        List<Object> outcomes = Site.together(() -> client.send(post("{}")).status);
        Expect.equal(outcomes, Collections.nCopies(8, 200));
        Expect.equal(phone.keyCount, 1);
    }

    private static Response twice(Request request, Transport real) throws IOException {
        Expect.equal(real.send(request).status, 200);
        return real.send(request);
    }

    @Claim("a request that arrives twice is refused once, and signed anew if it may take effect"
            + " twice")
    void replayed() throws Exception {
        AttestClient client = client();
        client.enrol();
        network.meet("/api/transfer", GatewayTests::twice);
        Expect.equal(Expect.refused(() -> client.send(post("{}"))), "assertion_replayed");
        Expect.equal(network.count("/api/transfer"), 1);
        network.meet("/api/list", GatewayTests::twice);
        Expect.equal(
                client.send(Request.get(url + "/api/list")).text(),
                learned(client, "strongbox") + " ");
        Expect.equal(network.count("/api/list"), 2);
        // The refusal brought the challenge.
        Expect.equal(network.count("/assert/challenge"), 0);
    }

    @Claim("a body that was changed on the way is refused, and signed anew")
    void changed() throws Exception {
        AttestClient client = client();
        client.enrol();
        String[] code = {null};
        network.meet("/api/transfer", (request, real) -> {
            Response response = real.send(request.withBody(Body.of("{\"amount\":1000}")));
            code[0] = Refusal.of(response).code;
            return response;
        });
        expectAccepted(client, "{\"amount\":1}", "strongbox");
        Expect.equal(code[0], "body_mismatch");
    }

    @Claim("an enrolment whose answer was lost goes on with the same key")
    void lost() throws Exception {
        AttestClient client = client();
        network.meet("/attest/verify", (request, real) -> {
            Expect.equal(real.send(request).status, 200);
            throw new IOException("the answer is lost");
        });
        Expect.fails(IOException.class, () -> {
            client.enrol();
            return null;
        });
        clock.advance(2);
        expectAccepted(client, "{}", "strongbox");
        Expect.equal(phone.keyCount, 1);
        Expect.equal(network.count("/attest/verify"), 2);
    }

    @Claim("one assertion pays for a session token, and a route without tokens gets an assertion")
    void tokens() throws Exception {
        AttestClient client = client();
        for (int number = 0; number < 3; number++) {
            Response response = client.send(
                    Request.get(url + "/chatty/feed"), AttestClient.Proof.SESSION_TOKEN);
            Expect.equal(
                    response.text(), "verified token android strongbox " + client.keyId() + " ");
        }
        Expect.equal(network.count("/assert/token"), 1);
        Response response = client.send(post("{}"), AttestClient.Proof.SESSION_TOKEN);
        Expect.equal(response.text(), learned(client, "strongbox") + " {}");
    }

    @Claim("OkHttp's requests are signed, and signed anew after a refusal")
    void okHttp() throws Exception {
        AttestClient client = client();
        SigningInterceptor interceptor = new SigningInterceptor(client);
        OkHttpNetwork okHttp = new OkHttpNetwork(network);
        okhttp3.Request request = new okhttp3.Request.Builder().url(url + "/api/transfer?to=7")
                .method("POST", OkHttpNetwork.body("{}", false)).build();
        for (int number = 0; number < 2; number++) {
            network.meet("/api/transfer", (sent, real) ->
                    real.send(sent.withBody(Body.of("{\"amount\":1000}"))));
            okhttp3.Response response = okHttp.call(interceptor, request);
            Expect.equal(response.code(), 200);
            Expect.equal(
                    new String(response.body().bytes(), "UTF-8"),
                    learned(client, "strongbox") + " {}");
        }
        Expect.equal(network.count("/api/transfer"), 4);
        Expect.equal(network.count("/assert/challenge"), 0);
    }

    @Claim("gRPC's calls are signed over the bytes that are sent, and signed anew")
    void grpc() throws Exception {
        AttestClient client = client();
        ProvingInterceptor interceptor = new ProvingInterceptor(
                client, AttestClient.Proof.ASSERTION, work -> new Thread(work).start());
        GrpcNetwork channel = new GrpcNetwork(network, url);
        network.meet("/api/x", (sent, real) ->
                real.send(sent.withBody(Body.of("{\"amount\":1000}"))));
        GrpcNetwork.Outcome outcome =
                channel.call(interceptor, MethodDescriptor.MethodType.UNARY, "hello");
        Expect.equal(outcome.status().getCode(), Status.Code.OK);
        Expect.equal(outcome.message, learned(client, "strongbox") + " \0\0\0\0\5hello");
        Expect.equal(network.count("/api/x"), 2);
        // The header alone does not say if the API may have the call already.
        network.meet("/api/x", GatewayTests::twice);
        outcome = channel.call(interceptor, MethodDescriptor.MethodType.UNARY, "hello");
        Expect.equal(outcome.status().getCode(), Status.Code.UNAUTHENTICATED);
        Expect.equal(network.count("/api/x"), 3);
    }

    @Claim("a revoked key is refused at once, and a reset enrols another one")
    void revoked() throws Exception {
        AttestClient client = client();
        client.enrol();
        String keyId = client.keyId();
        LabPhone.run(sallyport, "keys", "revoke", "-c", file, keyId);
        // The gateway learns of it within a second.
        String code = null;
        long limit = System.nanoTime() + 120_000_000_000L;
        while (code == null && System.nanoTime() < limit) {
            try {
                client.send(post("{}"));
            } catch (ClientException.Refused error) {
                code = error.refusal.code;
            }
        }
        Expect.equal(code, "key_revoked");
        Expect.equal(client.keyId(), keyId);
        Expect.equal(phone.keyCount, 1);
        client.reset();
        expectAccepted(client, "{}", "strongbox");
        Expect.equal(phone.keyCount, 2);
    }

    @Claim("a key that the gateway does not know is replaced by one new key")
    void unknown() throws Exception {
        AttestClient client = client();
        client.enrol();
        String keyId = client.keyId();
        // An app that was restored has a key, but of another gateway.
        store.save(store.load().replace(keyId, ClientData.keyId(new byte[65])));
        AttestClient restored = client();
        expectAccepted(restored, "{}", "strongbox");
        Expect.equal(phone.keyCount, 2);
    }

    @Claim("an unlocked phone is refused, tries one new key, and then waits as advised")
    void unlocked() throws Exception {
        phone.options = Arrays.asList("--unlocked", "--boot-state", "unverified");
        AttestClient client = client();
        Expect.equal(Expect.refused(() -> client.send(post("{}"))), "attestation_invalid");
        long until = Expect.fails(
                ClientException.TryLater.class, () -> client.send(post("{}"))).until;
        Expect.equal(until - clock.now(), 3_600_000L);
        Expect.equal(phone.keyCount, 2);
        Expect.equal(network.count("/attest/verify"), 2);
    }
}
