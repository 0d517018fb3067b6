package dev.sallyport.client;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** A refusal by the gateway: its problem document (RFC 9457) and the headers that belong to it. */
public final class Refusal {
    /** The action that the gateway advises. */
    public enum Action {
        SIGN_AGAIN("sign_again"),
        FETCH_CHALLENGE("fetch_challenge"),
        ATTEST_AGAIN("attest_again"),
        UPDATE_APP("update_app"),
        RETRY_LATER("retry_later"),
        NONE("none");

        final String word;

        Action(String word) {
            this.word = word;
        }

        static Action of(String word) {
            for (Action action : values()) {
                if (action.word.equals(word)) {
                    return action;
                }
            }
            return null;
        }
    }

    /** The headers of an answer. */
    interface Headers {
        /** The value; null if there is none. */
        String header(String name);
    }

    /** The most bytes: more than any problem document of a gateway has. */
    static final int BYTE_COUNT_MAX = 64 * 1024;

    /**
     * The actions for the codes of refusals with 401. If the answer has a document, its action
     * counts.
     */
    private static final Map<String, Action> ACTIONS = new HashMap<>();

    static {
        String[] signAgain = {
            "assertion_required", "assertion_malformed", "assertion_invalid", "assertion_replayed",
            "challenge_expired", "request_mismatch", "body_mismatch", "token_invalid"
        };
        for (String code : signAgain) {
            ACTIONS.put(code, Action.SIGN_AGAIN);
        }
        ACTIONS.put("challenge_required", Action.FETCH_CHALLENGE);
        ACTIONS.put("key_unknown", Action.ATTEST_AGAIN);
    }

    public final int status;
    /** One of the codes in the client guide, such as {@code challenge_expired}. */
    public final String code;
    public final Action action;
    /**
     * {@code unspent}, {@code spent} or {@code unknown}: the state of the request's assertion. Null
     * if the request brought none.
     */
    public final String assertion;
    /** An explanation for developers, on gateways that give one. Do not parse it. */
    public final String detail;
    /** The id by which the operator finds the request. */
    public final String requestId;
    /** The seconds to wait; null if the answer does not say. */
    public final Double retryAfter;
    /** The advice for another try; null on gateways that give none. */
    public final RetryAdvice retry;

    private Refusal(int status, Headers headers, String code, Action action) {
        this(status, headers, code, action, new HashMap<>(), headers.header("X-Request-Id"));
    }

    private Refusal(
            int status, Headers headers, String code, Action action, Map<String, Object> document,
            String requestId) {
        this.status = status;
        this.code = code;
        this.action = action;
        this.requestId = requestId;
        assertion = Json.string(document, "assertion");
        detail = Json.string(document, "detail");
        retry = RetryAdvice.of(Json.object(document, "retry"));
        retryAfter = seconds(headers.header("Retry-After"));
    }

    /**
     * True if the head may be that of a refusal. The API's own problem documents have the same
     * type.
     */
    static boolean mayBe(int status, Headers headers) {
        return hasProblem(status, headers) || refusedCode(status, headers) != null;
    }

    static Refusal of(Response response) {
        return of(response.status, response::header, response.body);
    }

    /**
     * Parses a refusal, or returns null if the answer is the API's.
     *
     * <p>An answer to HEAD has no document, and a proxy may replace the document by its own page. A
     * refusal with 401 has its code in a header, too.
     */
    static Refusal of(int status, Headers headers, byte[] body) {
        if (body.length > BYTE_COUNT_MAX) {
            return null;
        }
        if (hasProblem(status, headers)) {
            try {
                Map<String, Object> document =
                        Json.object(new String(body, StandardCharsets.UTF_8));
                String code = Json.string(document, "code");
                String word = Json.string(document, "action");
                if (code != null && word != null) {
                    // This version could not carry out an action that it does not know.
                    Action action = Action.of(word);
                    return action == null ? null : new Refusal(
                            status, headers, code, action, document,
                            Json.string(document, "request_id"));
                }
            } catch (Json.Malformed error) {
                // The header may still have the code.
            }
        }
        String code = refusedCode(status, headers);
        if (code == null) {
            return null;
        }
        Action action = ACTIONS.get(code);
        return new Refusal(status, headers, code, action == null ? Action.NONE : action);
    }

    /** The code in {@code WWW-Authenticate: AppAttest error="..."}; null if there is none. */
    private static String refusedCode(int status, Headers headers) {
        String text = headers.header("WWW-Authenticate");
        if (status != 401 || text == null) {
            return null;
        }
        String opening = "appattest error=\"";
        int start = text.toLowerCase(Locale.ROOT).indexOf(opening);
        if (start < 0) {
            return null;
        }
        start += opening.length();
        int end = text.indexOf('"', start);
        String code = end < 0 ? text.substring(start) : text.substring(start, end);
        return code.isEmpty() ? null : code;
    }

    /** True if a problem document follows, or would if this were not an answer to HEAD. */
    private static boolean hasProblem(int status, Headers headers) {
        String type = headers.header("Content-Type");
        return status >= 400 && type != null
                && type.toLowerCase(Locale.ROOT).startsWith("application/problem+json");
    }

    /** The seconds in {@code Retry-After}, if it holds a number, at most a week. */
    private static Double seconds(String text) {
        if (text == null || !text.matches("[0-9]{1,10}")) {
            return null;
        }
        return Math.min(Double.parseDouble(text), RetryAdvice.SECONDS_MAX);
    }

    /** True if another proof may be accepted. */
    boolean asksForProof() {
        return action == Action.SIGN_AGAIN || action == Action.FETCH_CHALLENGE
                || action == Action.ATTEST_AGAIN;
    }

    /**
     * True if the API may have got the request: its answer did not reach the gateway, or the
     * gateway may have accepted this very assertion before, because the network sent it twice.
     */
    private boolean mayHaveTakenEffect() {
        return code.equals("upstream_failed") || code.equals("upstream_timeout")
                || code.equals("assertion_replayed") && !"unspent".equals(assertion);
    }

    /** True if the request may be sent again without taking effect twice. */
    boolean allowsRepeating(String method) {
        if (!mayHaveTakenEffect()) {
            return true;
        }
        switch (method.toUpperCase(Locale.ROOT)) {
            case "GET":
            case "HEAD":
            case "OPTIONS":
            case "PUT":
            case "DELETE":
                return true;
            default:
                return false;
        }
    }
}
