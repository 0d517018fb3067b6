package dev.sallyport.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A key store, a gateway and a clock that do as a case says, and note what the client does. */
final class BehaviourWorld implements AttestedKeyStore, Transport, ClientClock {
    static final String GATEWAY = "https://gateway.example";
    static final String URL = GATEWAY + "/api/x";

    /** An answer that is lost. */
    static final class Lost extends IOException {
        private static final long serialVersionUID = 1;
    }

    final List<String> actions = new ArrayList<>();
    final StateStore.Memory store = new StateStore.Memory();
    boolean isSupported = true;
    private final Map<String, Deque<Object>> failures = new HashMap<>();
    private final Map<String, Deque<Object>> answers = new HashMap<>();
    private long now = 1_800_000_000_000L;
    private int count;

    AttestClient client() {
        Parts parts = new Parts(this, store, this, new AppInfo("com.example.app", "410", "14"));
        parts.clock = this;
        return new AttestClient(new Configuration.Builder(GATEWAY).build(), parts);
    }

    // Cases

    @SuppressWarnings("unchecked")
    static Map<String, Object> members(Object value) {
        return value == null ? Collections.emptyMap() : (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> list(Map<String, Object> object, String name) {
        return (List<Object>) object.get(name);
    }

    /** Takes the failures and answers of an event, in place of those of the one before. */
    void prepare(Map<String, Object> event) {
        take(event, "device", failures);
        take(event, "gateway", answers);
    }

    private static void take(
            Map<String, Object> event, String name, Map<String, Deque<Object>> queues) {
        queues.clear();
        Map<String, Object> given = members(event.get(name));
        for (String key : given.keySet()) {
            queues.put(key, new ArrayDeque<>(list(given, key)));
        }
    }

    private static Object next(Map<String, Deque<Object>> queues, String key) {
        Deque<Object> queue = queues.get(key);
        return queue == null ? null : queue.pollFirst();
    }

    void advance(double seconds) {
        now += (long) (seconds * 1000);
    }

    /** The stage by the name that the cases have, and the rest of the wait in seconds. */
    String state() throws Exception {
        String text = store.load();
        if (text == null) {
            return "none";
        }
        Map<String, Object> state = Json.object(text);
        String stage = Json.string(state, "stage");
        String name = stage.equals("MADE") ? "attested" : stage.toLowerCase(Locale.ROOT);
        long wait = (Json.number(state, "wait_until").longValue() - now) / 1000;
        return wait > 0 ? name + " waits " + wait : name;
    }

    // The key store

    private void fail(String step, String action) throws KeyException {
        actions.add(action);
        Object kind = next(failures, step);
        if (kind != null) {
            throw new KeyException(
                    KeyException.Kind.valueOf(((String) kind).toUpperCase(Locale.ROOT)),
                    "simulated", null);
        }
    }

    @Override
    public boolean isSupported() {
        return isSupported;
    }

    @Override
    public AttestedKey create(String alias, byte[] challenge) throws KeyException {
        fail("make", "make key");
        byte[] point = new byte[65];
        point[1] = (byte) ++count;
        return new AttestedKey(point, Collections.singletonList(challenge));
    }

    @Override
    public byte[] sign(String alias, byte[] data) throws KeyException {
        fail("sign", "sign");
        return new byte[] {1};
    }

    @Override
    public void delete(String alias) {}

    // The gateway

    @Override
    public Response send(Request request) throws IOException {
        String path = Target.of(request.url).path;
        actions.add(path.equals("/api/x") ? "send " + proof(request)
                : request.method + " " + path);
        Object answer = next(answers, path);
        if ("lost".equals(answer)) {
            throw new Lost();
        }
        return response(path, members(answer));
    }

    private static String proof(Request request) {
        return request.header(HeaderName.TOKEN) != null ? "token"
                : request.header("X-App-Attest-Assertion") != null ? "signed" : "unproved";
    }

    private Response response(String path, Map<String, Object> answer) {
        Double status = Json.number(answer, "status");
        Map<String, List<String>> headers = new HashMap<>();
        if (!Boolean.FALSE.equals(answer.get("challenge"))) {
            headers.put(HeaderName.CHALLENGE, Collections.singletonList(token()));
        }
        String code = Json.string(answer, "header");
        if (code != null) {
            headers.put("WWW-Authenticate", Collections.singletonList(
                    "AppAttest error=\"" + code + "\""));
        }
        Double retryAfter = Json.number(answer, "retryAfter");
        if (retryAfter != null) {
            headers.put("Retry-After", Collections.singletonList("" + retryAfter.longValue()));
        }
        String body = body(path);
        if (answer.containsKey("code")) {
            headers.put("Content-Type", Collections.singletonList("application/problem+json"));
            body = Json.write(answer);
        } else if (status != null && status != 200) {
            body = "not the gateway's";
        }
        return new Response(
                status == null ? 200 : status.intValue(), headers,
                body.getBytes(StandardCharsets.UTF_8));
    }

    private String token() {
        return "challenge-" + ++count;
    }

    private String body(String path) {
        Map<String, Object> members = new LinkedHashMap<>();
        if (path.endsWith("/challenge")) {
            members.put("challenge", token());
            members.put("expires_in", 120.0);
        } else if (path.equals("/assert/token")) {
            members.put("token", "token");
            members.put("expires_in", 300.0);
        }
        return Json.write(members);
    }

    // The clock

    @Override
    public long now() {
        return now;
    }

    @Override
    public void sleep(long milliseconds) {
        actions.add("wait " + milliseconds / 1000);
        now += milliseconds;
    }

    @Override
    public double chance() {
        return 0;
    }
}
