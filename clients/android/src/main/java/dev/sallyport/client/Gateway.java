package dev.sallyport.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Sends the client's own requests. */
final class Gateway {
    /** The answer to a request for a challenge. */
    static final class Challenge {
        final String token;
        /** The life in seconds; null if the answer does not say. */
        final Double lifetime;
        final RetryAdvice retry;

        Challenge(String token, Double lifetime, RetryAdvice retry) {
            this.token = token;
            this.lifetime = lifetime;
            this.retry = retry;
        }
    }

    /** The time for a failure report, in milliseconds: the caller waits for its error. */
    private static final int REPORT_TIMEOUT = 5_000;

    private final String base;
    private final Transport transport;
    private final FailureReports reports;

    Gateway(String base, Transport transport, FailureReports reports) {
        this.base = base;
        this.transport = transport;
        this.reports = reports;
    }

    String url(String path) {
        return base + path;
    }

    Response transmit(Request request) throws IOException {
        FailureReports.Carrier carrier = reports.carrying(request);
        try {
            return transport.send(carrier.request);
        } catch (IOException error) {
            reports.keep(carrier.report);
            throw error;
        }
    }

    /** @param value The value of the parameter {@code name}; null to send no parameter. */
    Challenge challenge(String path, String name, String value) throws IOException {
        String query = value == null ? "" : "?" + name + "=" + escaped(value);
        Response response = transmit(
                Request.get(url(path + query)).withHeader("Accept", "application/json"));
        Map<String, Object> answer = answer(response);
        String token = Json.string(answer, "challenge");
        if (token == null || token.isEmpty()) {
            throw new ClientException.UnexpectedAnswer(response.status);
        }
        return new Challenge(
                token, Json.number(answer, "expires_in"),
                RetryAdvice.of(Json.object(answer, "retry")));
    }

    /** The answer to an enrolment. */
    static final class Attested {
        final Response response;
        /** The ticket for a later key; null from a gateway of an earlier version. */
        final String ticket;

        Attested(Response response, String ticket) {
            this.response = response;
            this.ticket = ticket;
        }
    }

    /**
     * Has the gateway verify an attestation.
     *
     * @param ticket The ticket of an earlier key; null if there is none.
     */
    Attested verify(EnrolmentState state, String ticket) throws IOException {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("platform", "android");
        members.put("key_id", state.keyId);
        members.put("chain", state.chain);
        members.put("challenge", state.challenge);
        if (ticket != null) {
            members.put("installation", ticket);
        }
        Response response = transmit(
                Request.post(url("/attest/verify"), Body.of(Json.write(members)))
                        .withHeader("Content-Type", "application/json"));
        return new Attested(response, Json.string(answer(response), "installation"));
    }

    /** The JSON object of an answer 200. */
    static Map<String, Object> answer(Response response) throws ClientException {
        Refusal refusal = Refusal.of(response);
        if (refusal != null) {
            throw new ClientException.Refused(refusal);
        }
        try {
            if (response.status == 200) {
                return Json.object(response.text());
            }
        } catch (Json.Malformed error) {
            // It is not the gateway's.
        }
        throw new ClientException.UnexpectedAnswer(response.status);
    }

    /**
     * Reports a failure of the phone by a request of its own. If that fails as well, the next
     * request reports it.
     */
    void tellFailure() {
        if (!reports.isUrgent()) {
            return;
        }
        try {
            transmit(Request.post(url("/attest/failure"), null).withTimeout(REPORT_TIMEOUT));
        } catch (IOException error) {
            // The report was kept.
        }
    }

    /** Percent-encodes the bytes that are not unreserved (RFC 3986 section 2.3). */
    private static String escaped(String text) {
        StringBuilder escaped = new StringBuilder();
        for (byte value : text.getBytes(StandardCharsets.UTF_8)) {
            char letter = (char) (value & 0xFF);
            boolean isPlain = letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z'
                    || letter >= '0' && letter <= '9' || "-._~".indexOf(letter) >= 0;
            if (isPlain) {
                escaped.append(letter);
            } else {
                escaped.append('%').append("0123456789ABCDEF".charAt(letter >> 4))
                        .append("0123456789ABCDEF".charAt(letter & 15));
            }
        }
        return escaped.toString();
    }
}
