package dev.sallyport.client;

import java.io.IOException;
import java.net.SocketException;
import java.util.List;
import java.util.Locale;
import okhttp3.Call;
import okhttp3.RequestBody;
import okio.Timeout;

final class OkHttpTests extends Site {
    private final OkHttpNetwork okHttp = new OkHttpNetwork(network);
    private final List<okhttp3.Response> responses = okHttp.responses;
    private final List<okhttp3.Request> sent = okHttp.sent;

    OkHttpTests() throws IOException {}

    private okhttp3.Response call(SigningInterceptor interceptor, okhttp3.Request request)
            throws IOException {
        return okHttp.call(interceptor, request);
    }

    private SigningInterceptor interceptor() {
        return new SigningInterceptor(client());
    }

    private static RequestBody body(String text, boolean isOneShot) {
        return OkHttpNetwork.body(text, isOneShot);
    }

    private okhttp3.Request.Builder get() {
        return new okhttp3.Request.Builder().url(url());
    }

    @Claim("requests are signed, bodies too, and OkHttp does not repeat them")
    void signed() throws Exception {
        SigningInterceptor interceptor = interceptor();
        Expect.equal(call(interceptor, get().build()).code(), 200);
        okhttp3.Request post = get().header("X-Mine", "1").method("POST", body("hello", false))
                .build();
        okhttp3.Response response = call(interceptor, post);
        Expect.equal(response.code(), 200);
        Expect.isTrue(!response.isClosed);
        Expect.equal(gateway.last("/api/x").text(), "hello");
        Expect.equal(gateway.last("/api/x").header("X-Mine"), "1");
        okhttp3.Request last = sent.get(1);
        Expect.isTrue(last.body().isOneShot());
        Expect.equal(last.body().contentType().toString(), "text/plain");
        Expect.equal(gateway.count("/assert/challenge"), 0);
    }

    @Claim("a refusal is followed, and its answer closed")
    void refused() throws Exception {
        SigningInterceptor interceptor = interceptor();
        call(interceptor, get().build());
        gateway.forgetChallenges();
        Expect.equal(
                call(interceptor, get().method("POST", body("hello", false)).build()).code(), 200);
        Expect.equal(gateway.count("/api/x"), 3);
        Expect.isTrue(responses.get(1).isClosed && !responses.get(2).isClosed);
        gateway.script("/api/x", FakeGateway.refusal(403, "key_revoked", "none"));
        Expect.equal(
                Expect.refused(() -> call(interceptor, get().build())), "key_revoked");
        Expect.isTrue(responses.get(3).isClosed);
    }

    @Claim("requests to other hosts and the client's own are left alone")
    void others() throws Exception {
        SigningInterceptor interceptor = interceptor();
        gateway.observes = true;
        okhttp3.Request other = new okhttp3.Request.Builder()
                .url(url().replace("127.0.0.1", "localhost")).build();
        Expect.equal(call(interceptor, other).code(), 200);
        Expect.isTrue(sent.get(0) == other);
        okhttp3.Request own = get().tag(OkHttpTransport.Own.class, OkHttpTransport.Own.TAG).build();
        Expect.equal(call(interceptor, own).code(), 200);
        Expect.isTrue(sent.get(1) == own);
        Expect.equal(keys.keyCount, 0);
    }

    @Claim("the default port of the gateway may be written or not")
    void defaultPort() throws Exception {
        for (String url : new String[] {"https://h.example", "https://H.example:443/base"}) {
            Configuration configuration = new Configuration.Builder(url)
                    .whenUnproved(Configuration.Unproved.FAIL).build();
            keys.isSupported = false;
            SigningInterceptor interceptor =
                    new SigningInterceptor(new AttestClient(configuration, parts()));
            okhttp3.Request request =
                    new okhttp3.Request.Builder().url("https://h.example/api/x").build();
            Expect.fails(
                    ClientException.Unsupported.class, () -> call(interceptor, request));
        }
    }

    @Claim("a tag asks for a session token, bound to the request's header")
    void token() throws Exception {
        gateway.bindsTokens = true;
        settings.sessionTokenHeader("Authorization");
        okhttp3.Request request = get().header("Authorization", "ann")
                .tag(AttestClient.Proof.class, AttestClient.Proof.SESSION_TOKEN).build();
        Expect.equal(call(interceptor(), request).code(), 200);
        Expect.isTrue(gateway.last("/api/x").header("X-App-Attest-Token") != null);
    }

    @Claim("a body may be signed itself")
    void bodyShape() throws Exception {
        gateway.signsBody = true;
        settings.signBody("challenge");
        okhttp3.Request post = get().method("POST", body("{\"a\":1}", false)).build();
        Expect.equal(call(interceptor(), post).code(), 200);
        Expect.isTrue(gateway.last("/api/x").text().endsWith(",\"a\":1}"));
    }

    @Claim("a body that can be written once is not sent")
    void oneShot() throws Exception {
        okhttp3.Request post = get().method("POST", body("x", true)).build();
        Expect.fails(
                ClientException.InvalidRequest.class, () -> call(interceptor(), post));
    }

    @Claim("a failure of the network is OkHttp's own")
    void lost() throws Exception {
        network.lose("/api/x");
        Expect.fails(SocketException.class, () -> call(interceptor(), get().build()));
    }

    private Call.Factory calls() {
        return request -> new Call() {
            @Override
            public okhttp3.Response execute() throws IOException {
                Expect.isTrue(request.tag(OkHttpTransport.Own.class) != null);
                return okHttp.proceed(request);
            }

            @Override
            public Timeout timeout() {
                return new Timeout();
            }
        };
    }

    @Claim("a transport of OkHttp sends what is signed, and fails before that if it cannot")
    void sendable() throws Exception {
        Parts parts = parts();
        parts.transport = new OkHttpTransport(calls());
        AttestClient client = new AttestClient(settings.build(), parts);
        client.enrol();
        for (String method : new String[] {"POST", "PUT", "PATCH", "patch", "DELETE", "get"}) {
            Expect.equal(client.send(new Request(method, url(), null)).status, 200);
            Expect.equal(sent.get(sent.size() - 1).method(), method.toUpperCase(Locale.ROOT));
        }
        int count = keys.signatureCount;
        for (Request request : new Request[] {
            Request.get(url("/api/a|b")), Request.get(url("/api/./x")),
            Request.get(url("/api/x?q=it's")), new Request("get", url(), Body.of("x"))
        }) {
            Expect.fails(ClientException.InvalidRequest.class, () -> client.send(request));
            Expect.fails(
                    ClientException.InvalidRequest.class, () -> parts.transport.send(request));
        }
        Expect.equal(keys.signatureCount, count);
    }

    @Claim("an interceptor sends a method in the case in which it is signed")
    void lowerCase() throws Exception {
        call(interceptor(), get().method("patch", body("hello", false)).build());
        Expect.equal(sent.get(0).method(), "PATCH");
    }

    @Claim("the client's own requests may go through OkHttp as well")
    void transport() throws Exception {
        keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
        Parts parts = parts();
        parts.transport = new OkHttpTransport(calls());
        AttestClient client = new AttestClient(settings.build(), parts);
        Expect.kind(() -> send(client));
        Expect.equal(gateway.count("/attest/failure"), 1);
        clock.advance(2);
        Expect.equal(send(client), 200);
        Expect.isTrue(responses.stream().allMatch(response -> response.isClosed));
    }
}
