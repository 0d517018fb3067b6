package dev.sallyport.client;

import android.content.Context;
import java.io.IOException;
import java.util.Map;
import java.util.Objects;

/**
 * Signs requests with a key that the phone has attested, and sends them through a Sallyport
 * gateway.
 *
 * <p>Use one client for each gateway and process. It enrols a key when the first request needs one,
 * keeps the challenges in answers, and follows the advice of refusals, within the bounds of {@link
 * RetryPolicy}. Its methods block, so call them on a worker thread. Any number of threads may use
 * it.
 */
public final class AttestClient {
    /** The proof of a request. */
    public enum Proof {
        /** An assertion over this very request. */
        ASSERTION,
        /**
         * A session token, which one assertion pays for: for routes with {@code accept: [assertion,
         * token]}.
         */
        SESSION_TOKEN
    }

    private final Configuration configuration;
    private final Transport transport;
    private final ClientClock clock;
    private final ChallengeCache challenges = new ChallengeCache();
    private final FailureReports reports;
    private final Gateway gateway;
    private final Enrolment enrolment;
    private final Signer signer;
    private final SessionTokens tokens;
    private boolean hasToldUnsupported;

    /** Makes a client with the phone's own parts. */
    public AttestClient(Context context, Configuration configuration) {
        this(configuration, Parts.ofDevice(context, configuration));
    }

    public AttestClient(Configuration configuration, Parts parts) {
        this.configuration = configuration;
        transport = parts.transport;
        clock = parts.clock;
        reports = new FailureReports(configuration.reportsFailures, parts.app);
        gateway = new Gateway(configuration.gateway, transport, reports);
        tokens = new SessionTokens(clock, this::fetchToken, this::isCurrent);
        enrolment = new Enrolment(
                configuration, parts, gateway, reports, challenges, () -> {
                    challenges.clear();
                    tokens.clear();
                });
        signer = new Signer(configuration, parts, enrolment, gateway, reports, challenges);
    }

    /** The key ID; null if the gateway has confirmed no key yet. */
    public String keyId() throws IOException {
        EnrolmentState state = enrolment.state();
        return state.isEnrolled() ? state.keyId : null;
    }

    /** Enrols a key now, which the first request would do otherwise. Completed steps are kept. */
    public void enrol() throws IOException {
        requireSupport();
        enrolment.enrolledKey();
    }

    /** True if requests to this URL go to the client's gateway: it has the same origin. */
    public boolean serves(String url) {
        try {
            return Target.of(url).origin.equals(Target.of(configuration.gateway).origin);
        } catch (IllegalArgumentException error) {
            return false;
        }
    }

    /**
     * Fails for a request to another server. It must see no proof, and its refusals would make the
     * client give up its key.
     */
    private void requireServed(Request request) throws ClientException.InvalidRequest {
        if (!serves(request.url)) {
            throw new ClientException.InvalidRequest("the URL does not have the gateway's origin");
        }
    }

    /** Sends a request with an assertion and returns the API's answer. */
    public Response send(Request request) throws IOException {
        return send(request, Proof.ASSERTION);
    }

    /**
     * Sends a request with its proof and returns the API's answer.
     *
     * @throws ClientException.Refused if the gateway refuses and nothing helps now.
     * @throws ClientException.InvalidRequest if the URL does not have the gateway's origin: no
     *     other server may see a proof.
     * @throws ClientException The reason why there is no proof, if there must be one.
     * @throws IOException The transport's error, if no answer came. The API may have seen such a
     *     request.
     */
    public Response send(Request request, Proof proof) throws IOException {
        // Before it is signed, which would spend a challenge.
        request.requireSendable();
        return deliver(request, proof, configuration.whenUnproved, this::exchange).content;
    }

    private Answer<Response> exchange(Request request) throws IOException {
        Response response = transport.send(request);
        return new Answer<>(
                response, response.header(HeaderName.CHALLENGE), Refusal.of(response));
    }

    /**
     * Returns the request with an assertion, to be sent once and soon by another sender. Hand the
     * answer to {@link #receive}, and a refusal to {@link #follow}.
     *
     * <p>It fails if there is no proof now, whatever {@link Configuration.Builder#whenUnproved}
     * says. The request is good for one attempt within the life of its challenge (two minutes
     * unless the operator says otherwise).
     */
    public Request sign(Request request) throws IOException {
        request.requireSendable();
        requireServed(request);
        requireSupport();
        return reports.carrying(signer.sign(request).request).request;
    }

    /** Keeps the challenge that an answer brought, and returns the refusal; null if it is none. */
    public Refusal receive(Response response) {
        challenges.keep(response.header(HeaderName.CHALLENGE), clock.now());
        return Refusal.of(response);
    }

    /**
     * Does what the refusal of a request asks for, which may be to wait or to enrol another key.
     *
     * @param request The refused attempt, as {@link #sign} returned it.
     * @param attempt The number of attempts so far.
     * @return True if the request is to be signed and sent again.
     */
    public boolean follow(Refusal refusal, Request request, int attempt) throws IOException {
        requireServed(request);
        String text = request.header(HeaderName.TOKEN);
        SessionToken token = tokens.named(text);
        if (refusal.code.equals("token_invalid")) {
            tokens.giveUp(token);
        }
        String keyId = request.header(configuration.keyIdHeader);
        if (keyId == null && token != null) {
            keyId = token.keyId;
        }
        // Without a proof now, there is none a moment later.
        boolean isHelpless = keyId == null && text == null && refusal.asksForProof();
        if (isHelpless || attempt >= configuration.retries.attempts(refusal.retry)) {
            return false;
        }
        return resolve(refusal, request, keyId, attempt);
    }

    /**
     * Returns a session token for a process that cannot sign, such as a web view: the one that the
     * client has, or one that an assertion has just paid for.
     *
     * @param binding The value of {@link Configuration.Builder#sessionTokenHeader} in the requests
     *     that the token is for; null if tokens are not bound.
     */
    public SessionToken sessionToken(String binding) throws IOException {
        return sessionToken(binding, null);
    }

    /**
     * Returns a session token as {@link #sessionToken(String)} does, but not the refused one.
     *
     * @param refused The text of a token that was refused with {@code token_invalid}, which the
     *     client then forgets; null for none.
     */
    public SessionToken sessionToken(String binding, String refused) throws IOException {
        requireSupport();
        tokens.giveUp(tokens.named(refused));
        return tokens.token(binding);
    }

    /**
     * Forgets the key and every wait, as if the app had been installed anew. The next request
     * enrols another key.
     *
     * <p>This is for a button that your support may ask users to press, not for the handling of
     * errors: the client replaces a useless key by itself.
     */
    public void reset() throws IOException {
        enrolment.reset();
    }

    // Attempts

    Configuration configuration() {
        return configuration;
    }

    /** Sends until the API has answered, or nothing is left to try. */
    <T> Answer<T> deliver(
            Request request, Proof proof, Configuration.Unproved whenUnproved,
            Exchange<T> exchange) throws IOException {
        requireServed(request);
        for (int attempt = 1;; attempt++) {
            Answer<T> answer = attempt(request, proof, whenUnproved, exchange);
            // A challenge for a key that was replaced meanwhile is useless.
            if (answer.keyId == null || answer.keyId.equals(enrolment.state().keyId)) {
                challenges.keep(answer.challenge, clock.now());
            }
            Refusal refusal = answer.refusal;
            if (refusal == null) {
                return answer;
            }
            exchange.discard(answer.content);
            // The gateway insists on a proof. The reason why there is none says more than that.
            if (answer.unproved != null && refusal.asksForProof()) {
                throw answer.unproved;
            }
            if (refusal.code.equals("assertion_required")) {
                proof = Proof.ASSERTION;
            }
            if (refusal.code.equals("token_invalid")) {
                tokens.giveUp(answer.token);
            }
            boolean isLast = attempt >= configuration.retries.attempts(refusal.retry);
            if (isLast || !resolve(refusal, request, answer.keyId, attempt)) {
                throw new ClientException.Refused(refusal);
            }
        }
    }

    private <T> Answer<T> attempt(
            Request request, Proof proof, Configuration.Unproved whenUnproved,
            Exchange<T> exchange) throws IOException {
        Signer.Proved proved;
        ClientException unproved = null;
        try {
            proved = prove(request, proof);
        } catch (ClientException error) {
            if (whenUnproved == Configuration.Unproved.FAIL
                    || error instanceof ClientException.InvalidRequest) {
                throw error;
            }
            proved = new Signer.Proved(request, null, null);
            unproved = error;
        }
        FailureReports.Carrier carrier = reports.carrying(proved.request);
        try {
            Answer<T> answer = exchange.send(carrier.request);
            answer.keyId = proved.keyId;
            answer.token = proved.token;
            answer.unproved = unproved;
            return answer;
        } catch (IOException error) {
            reports.keep(carrier.report);
            reports.note(FailureReport.Phase.REQUEST, error, 1);
            throw error;
        }
    }

    private Signer.Proved prove(Request request, Proof proof) throws IOException {
        if (enrolment.isUnsupported()) {
            noteUnsupported();
            return standIn(request);
        }
        try {
            if (proof == Proof.ASSERTION) {
                return signer.sign(request);
            }
            String header = configuration.sessionTokenHeader;
            SessionToken token = tokens.token(header == null ? null : request.header(header));
            return new Signer.Proved(
                    request.withHeader(HeaderName.TOKEN, token.text), token.keyId, token);
        } catch (KeyException error) {
            if (error.kind == KeyException.Kind.UNSUPPORTED
                    && configuration.developerToken != null) {
                return standIn(request);
            }
            throw error;
        }
    }

    /** The proof of a phone that cannot attest. */
    private Signer.Proved standIn(Request request) throws ClientException.Unsupported {
        if (configuration.developerToken == null) {
            throw new ClientException.Unsupported();
        }
        return new Signer.Proved(
                request.withHeader(HeaderName.TOKEN, configuration.developerToken), null, null);
    }

    private void requireSupport() throws IOException {
        if (enrolment.isUnsupported()) {
            throw new ClientException.Unsupported();
        }
    }

    /** Notes that attestation is unsupported, once in a client's life. */
    private synchronized void noteUnsupported() {
        // Why a key could not be made was told when it was tried.
        boolean isNews = !enrolment.isSupported() && !hasToldUnsupported;
        if (isNews && configuration.developerToken == null) {
            hasToldUnsupported = true;
            reports.note(FailureReport.Phase.SUPPORT, new ClientException.Unsupported(), 1);
        }
    }

    /** Prepares another attempt, or returns false if none would help. */
    private boolean resolve(Refusal refusal, Request request, String keyId, int attempt)
            throws IOException {
        RetryPolicy retries = configuration.retries;
        switch (refusal.action) {
            case SIGN_AGAIN:
            case FETCH_CHALLENGE:
                Double first = refusal.retry == null ? null : refusal.retry.first();
                if (first != null && first > retries.waitMax
                        || !refusal.allowsRepeating(request.method)) {
                    return false;
                }
                sleep(first == null ? 0 : first);
                return true;
            case ATTEST_AGAIN:
                return keyId != null && enrolment.giveUpKey(keyId, refusal.retry);
            case RETRY_LATER:
                double wait = retries.wait(
                        attempt, refusal.retryAfter, retries.waitMax, refusal.retry,
                        clock.chance());
                if (wait > retries.waitMax * 1.25 || !refusal.allowsRepeating(request.method)) {
                    return false;
                }
                sleep(wait);
                return true;
            default:
                return false;
        }
    }

    private void sleep(double seconds) throws IOException {
        if (seconds <= 0) {
            return;
        }
        try {
            clock.sleep((long) (seconds * 1000));
        } catch (InterruptedException error) {
            throw SingleFlight.interrupted();
        }
    }

    // Session tokens

    private boolean isCurrent(String keyId) throws IOException {
        return Objects.equals(keyId, enrolment.state().keyId);
    }

    private SessionToken fetchToken(String binding) throws IOException {
        Request request = Request.post(gateway.url("/assert/token"), null);
        if (configuration.sessionTokenHeader != null && binding != null) {
            request = request.withHeader(configuration.sessionTokenHeader, binding);
        }
        Answer<Response> answer = deliver(
                request, Proof.ASSERTION, Configuration.Unproved.FAIL, this::exchange);
        Map<String, Object> members = Gateway.answer(answer.content);
        String text = Json.string(members, "token");
        Double lifetime = Json.number(members, "expires_in");
        if (text == null || lifetime == null) {
            throw new ClientException.UnexpectedAnswer(answer.content.status);
        }
        long until = clock.now() + (long) (lifetime * 900);
        return new SessionToken(text, until, binding, answer.keyId);
    }
}
