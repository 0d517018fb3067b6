package dev.sallyport.client;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A gateway that verifies what Android sends, or gives the answers that a test has put in line. */
final class FakeGateway implements AutoCloseable {
    /** A request that came. */
    static final class Seen {
        String method;
        String path;
        String query;
        Map<String, String> headers = new HashMap<>();
        byte[] body;

        String header(String name) {
            return headers.get(name.toLowerCase());
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    static final class Reply {
        final int status;
        final String body;
        final Map<String, String> headers = new LinkedHashMap<>();

        Reply(int status, String body) {
            this.status = status;
            this.body = body;
        }

        Reply with(String name, String value) {
            headers.put(name, value);
            return this;
        }
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    final List<Seen> requests = Collections.synchronizedList(new ArrayList<>());
    private final Map<String, Deque<Reply>> scripts = new HashMap<>();
    private final Set<String> challenges = new HashSet<>();
    final Map<String, PublicKey> keys = new HashMap<>();
    private final Map<String, String> tokens = new HashMap<>();
    private int number;
    /** True if requests without a proof are served. */
    boolean observes;
    /** True if the body itself is signed. */
    boolean signsBody;
    /** The value of {@code Authorization} counts for session tokens. */
    boolean bindsTokens;
    /** Characters after each attestation challenge, to make it long. */
    String padding = "";
    boolean givesTickets = true;
    /** Members of answers to requests for attestation challenges. */
    String advice = "";
    /** The first requests to the API are all here before any is answered. */
    volatile CyclicBarrier meeting;

    FakeGateway() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }

    int count(String path) {
        return seen(path).size();
    }

    List<Seen> seen(String path) {
        List<Seen> found = new ArrayList<>();
        synchronized (requests) {
            requests.stream().filter(request -> request.path.equals(path)).forEach(found::add);
        }
        return found;
    }

    Seen last(String path) {
        List<Seen> found = seen(path);
        return found.get(found.size() - 1);
    }

    // Scripts

    /** The next request to this path gets this answer. */
    synchronized void script(String path, Reply reply) {
        scripts.computeIfAbsent(path, key -> new ArrayDeque<>()).add(reply);
    }

    void script(String path, Reply reply, int count) {
        for (int index = 0; index < count; index++) {
            script(path, reply);
        }
    }

    static Reply refusal(int status, String code, String action) {
        return refusal(status, code, action, null);
    }

    static Reply refusal(int status, String code, String action, String retry) {
        String advice = retry == null ? "" : ",\"retry\":" + retry;
        String body = "{\"code\":\"" + code + "\",\"action\":\"" + action
                + "\",\"request_id\":\"r1\"" + advice + "}";
        Reply reply = new Reply(status, body).with("Content-Type", "application/problem+json");
        return status == 401
                ? reply.with("WWW-Authenticate", "AppAttest error=\"" + code + "\"") : reply;
    }

    // Requests

    private void handle(HttpExchange exchange) throws IOException {
        Seen seen = new Seen();
        seen.method = exchange.getRequestMethod();
        seen.path = exchange.getRequestURI().getRawPath();
        seen.query = exchange.getRequestURI().getRawQuery();
        exchange.getRequestHeaders().forEach(
                (name, values) -> seen.headers.put(name.toLowerCase(), values.get(0)));
        seen.body = exchange.getRequestBody().readAllBytes();
        requests.add(seen);
        Reply reply;
        try {
            CyclicBarrier meeting = this.meeting;
            if (meeting != null && seen.path.startsWith("/api/")) {
                meeting.await();
                this.meeting = null;
            }
            synchronized (this) {
                Deque<Reply> script = scripts.get(seen.path);
                reply = script != null && !script.isEmpty() ? script.remove() : answer(seen);
            }
        } catch (Exception error) {
            reply = new Reply(500, error.toString());
        }
        reply.headers.forEach((name, value) -> exchange.getResponseHeaders().set(name, value));
        byte[] body = reply.body.getBytes(StandardCharsets.UTF_8);
        boolean hasBody = body.length > 0 && !seen.method.equals("HEAD");
        exchange.sendResponseHeaders(reply.status, hasBody ? body.length : -1);
        if (hasBody) {
            exchange.getResponseBody().write(body);
        }
        exchange.close();
    }

    private Reply answer(Seen seen) throws Exception {
        switch (seen.path) {
            case "/attest/challenge":
                return new Reply(
                        200, "{\"challenge\":\"" + challenge() + "\",\"expires_in\":120" + advice
                                + "}");
            case "/assert/challenge":
                return new Reply(200, "{\"challenge\":\"" + challenge() + "\",\"expires_in\":120}");
            case "/attest/verify":
                return verify(Json.object(seen.text()));
            case "/attest/failure":
                return new Reply(204, "");
            case "/assert/token":
                return judge(seen, true);
            default:
                return judge(seen, false);
        }
    }

    private String challenge() {
        String token = "token-" + ++number + padding;
        challenges.add(token);
        return token;
    }

    private Reply next(Reply reply) {
        return reply.with("X-App-Attest-Challenge", challenge());
    }

    private Reply verify(Map<String, Object> body) throws GeneralSecurityException {
        String keyId = (String) body.get("key_id");
        String token = (String) body.get("challenge");
        List<?> chain = (List<?>) body.get("chain");
        byte[] leaf = Base64.getDecoder().decode((String) chain.get(0));
        int count = leaf[0] & 0xFF;
        byte[] info = Arrays.copyOfRange(leaf, 1 + count, leaf.length);
        byte[] point = Arrays.copyOfRange(info, info.length - 65, info.length);
        byte[] expected = token.getBytes(StandardCharsets.UTF_8);
        if (expected.length > 128) {
            expected = Body.sha256(expected);
        }
        boolean holds = "android".equals(body.get("platform"))
                && Arrays.equals(expected, Arrays.copyOfRange(leaf, 1, 1 + count))
                && keyId.equals(Base64.getEncoder().encodeToString(Body.sha256(point)));
        if (!holds) {
            return next(refusal(403, "attestation_invalid", "attest_again"));
        }
        if (!challenges.remove(token) && !keys.containsKey(keyId)) {
            return next(refusal(401, "challenge_expired", "fetch_challenge"));
        }
        keys.put(keyId, KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(info)));
        String more = givesTickets ? ",\"installation\":\"ticket of " + keyId + "\"" : "";
        return next(new Reply(
                200, "{\"status\":\"attested\",\"key_id\":\"" + keyId + "\"" + more + "}"));
    }

    private Reply judge(Seen seen, boolean wantsToken) throws Exception {
        String token = seen.header("X-App-Attest-Token");
        String code = null;
        if (seen.header("X-App-Attest-Assertion") != null) {
            code = fault(seen);
        } else if (token != null) {
            boolean isGood = tokens.containsKey(token)
                    && (!bindsTokens || tokens.get(token).equals(seen.header("Authorization")));
            code = isGood || token.equals("developer") ? null : "token_invalid";
        } else if (!observes) {
            code = "assertion_required";
        }
        if (code != null) {
            String action = code.equals("key_unknown") ? "attest_again" : "sign_again";
            return next(refusal(401, code, action));
        }
        if (wantsToken) {
            String fresh = "session-" + ++number;
            tokens.put(fresh, String.valueOf(seen.header("Authorization")));
            return next(new Reply(200, "{\"token\":\"" + fresh + "\",\"expires_in\":300}"));
        }
        return next(new Reply(200, "served"));
    }

    private String fault(Seen seen) throws Exception {
        PublicKey key = keys.get(seen.header("X-App-Attest-Key-Id"));
        if (key == null) {
            return "key_unknown";
        }
        byte[] clientData = signsBody ? seen.body
                : Base64.getDecoder().decode(seen.header("X-App-Attest-Client-Data"));
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initVerify(key);
        signature.update(clientData);
        if (!signature.verify(
                Base64.getDecoder().decode(seen.header("X-App-Attest-Assertion")))) {
            return "assertion_invalid";
        }
        Map<String, Object> members =
                Json.object(new String(clientData, StandardCharsets.UTF_8));
        if (!challenges.remove(Json.string(members, "challenge"))) {
            return "challenge_expired";
        }
        if (signsBody) {
            return null;
        }
        String query = seen.query == null ? "" : seen.query;
        if (!seen.method.equals(members.get("method")) || !seen.path.equals(members.get("path"))
                || !query.equals(members.get("query"))) {
            return "request_mismatch";
        }
        String digest = Base64.getEncoder().encodeToString(Body.sha256(seen.body));
        return digest.equals(members.get("bodySHA256")) ? null : "body_mismatch";
    }

    /** A restart in which every challenge is forgotten. */
    synchronized void forgetChallenges() {
        challenges.clear();
    }

    synchronized void forgetTokens() {
        tokens.clear();
    }

    synchronized void forgetKeys() {
        keys.clear();
    }
}
