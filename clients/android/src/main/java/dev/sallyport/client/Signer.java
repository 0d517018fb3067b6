package dev.sallyport.client;

import java.io.IOException;

/** Adds assertions to requests. */
final class Signer {
    /** A request with its proof. */
    static final class Proved {
        final Request request;
        /** The key behind the proof; null if there is none. */
        final String keyId;
        /** The session token; null if there is none. */
        final SessionToken token;

        Proved(Request request, String keyId, SessionToken token) {
            this.request = request;
            this.keyId = keyId;
            this.token = token;
        }
    }

    /**
     * The number of failures to sign in a row after which a key is given up. Some keys never sign
     * again, although the phone does not report them as gone.
     */
    private static final int FAILURE_MAX = 3;

    private final Configuration configuration;
    private final AttestedKeyStore keys;
    private final ClientClock clock;
    private final Enrolment enrolment;
    private final Gateway gateway;
    private final FailureReports reports;
    private final ChallengeCache challenges;

    Signer(
            Configuration configuration, Parts parts, Enrolment enrolment, Gateway gateway,
            FailureReports reports, ChallengeCache challenges) {
        this.configuration = configuration;
        this.keys = parts.keys;
        this.clock = parts.clock;
        this.enrolment = enrolment;
        this.gateway = gateway;
        this.reports = reports;
        this.challenges = challenges;
    }

    /**
     * Adds an assertion. If the key does not sign any more, or is gone because the phone was
     * restored or its credentials cleared, another key is enrolled, once.
     */
    Proved sign(Request request) throws IOException {
        Enrolment.Key key = enrolment.enrolledKey();
        try {
            return sign(request, key);
        } catch (KeyException error) {
            if (!isUseless(key, error) || !enrolment.giveUpKey(key.id, null)) {
                throw error;
            }
            return sign(request, enrolment.enrolledKey());
        }
    }

    private boolean isUseless(Enrolment.Key key, KeyException error) throws ClientException.State {
        EnrolmentState state = enrolment.state();
        return !key.id.equals(state.keyId) || error.kind == KeyException.Kind.LOST
                || error.mayBlameKey() && state.failures >= FAILURE_MAX;
    }

    private Proved sign(Request request, Enrolment.Key key) throws IOException {
        // What can fail or take long comes before the challenge, which has a short life.
        ClientData.target(request);
        boolean signsBody = configuration.challengeMember != null;
        byte[] digest = signsBody ? null : Body.digest(request.body);
        String challenge = challenge(key.id);
        byte[] clientData;
        Request signed = request;
        if (!signsBody) {
            clientData = ClientData.header(request, challenge, digest);
            signed = signed.withHeader(
                    configuration.clientDataHeader, Base64.encode(clientData));
        } else {
            clientData =
                    ClientData.body(request.body, challenge, configuration.challengeMember);
            signed = signed.withBody(Body.of(clientData));
        }
        byte[] assertion = assertion(key, clientData);
        return new Proved(
                signed.withHeader(configuration.assertionHeader, Base64.encode(assertion))
                        .withHeader(configuration.keyIdHeader, key.id),
                key.id, null);
    }

    /**
     * Returns a signature, and counts failures in a row. Failures at the same time count as one.
     */
    private byte[] assertion(Enrolment.Key key, byte[] clientData) throws IOException {
        int failures = enrolment.state().failures;
        try {
            byte[] assertion = keys.sign(key.alias, clientData);
            enrolment.countFailures(0, key.id);
            return assertion;
        } catch (KeyException error) {
            reports.note(FailureReport.Phase.ASSERT, error, failures + 1);
            if (error.mayBlameKey()) {
                enrolment.countFailures(failures + 1, key.id);
            }
            throw error;
        }
    }

    /** The newest challenge that an answer brought, or a fresh one. */
    private String challenge(String keyId) throws IOException {
        String kept = challenges.take(clock.now());
        if (kept != null) {
            return kept;
        }
        try {
            Gateway.Challenge answer =
                    gateway.challenge("/assert/challenge", "key_id", Base64.urlSafe(keyId));
            if (answer.lifetime != null) {
                challenges.learn(answer.lifetime);
            }
            return answer.token;
        } catch (IOException error) {
            reports.note(FailureReport.Phase.CHALLENGE, error, 1);
            throw error;
        }
    }
}
