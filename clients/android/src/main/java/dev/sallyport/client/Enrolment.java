package dev.sallyport.client;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Enrols keys, one at a time, and keeps the state of that. */
final class Enrolment {
    /** A key that the gateway knows. */
    static final class Key {
        final String id;
        final String alias;

        Key(String id, String alias) {
            this.id = id;
            this.alias = alias;
        }
    }

    private final Configuration configuration;
    private final AttestedKeyStore keys;
    private final StateStore store;
    private final TicketStore tickets;
    private final ClientClock clock;
    private final Gateway gateway;
    private final FailureReports reports;
    private final ChallengeCache challenges;
    /** Runs when a key is given up. */
    private final Runnable forget;
    private final SingleFlight<Key> enrolling = new SingleFlight<>();
    /** Null until it was loaded. It is never changed, only replaced. */
    private EnrolmentState state;
    /** The number of states that could not be saved, and the wait after them. No store has them. */
    private int unsavedCount;
    private long unsavedUntil;
    private long unsavedLength;

    Enrolment(
            Configuration configuration, Parts parts, Gateway gateway, FailureReports reports,
            ChallengeCache challenges, Runnable forget) {
        this.configuration = configuration;
        this.keys = parts.keys;
        this.store = parts.store;
        this.tickets = parts.tickets;
        this.clock = parts.clock;
        this.gateway = gateway;
        this.reports = reports;
        this.challenges = challenges;
        this.forget = forget;
    }

    // State

    /** The current state. Change a copy of it. */
    synchronized EnrolmentState state() throws ClientException.State {
        if (state == null) {
            try {
                String text = store.load();
                state = text == null ? new EnrolmentState() : EnrolmentState.of(text);
            } catch (IOException error) {
                throw new ClientException.State(error);
            }
        }
        return state;
    }

    /**
     * Saves the next state and then takes it. The client never acts on a state that was not saved.
     */
    private synchronized void keep(EnrolmentState next) throws ClientException.State {
        try {
            store.save(next.text());
        } catch (IOException error) {
            throw new ClientException.State(error);
        }
        state = next;
    }

    private String alias(int slot) {
        return configuration.keyAlias + " " + slot;
    }

    /** True if the phone's system can attest keys at all. */
    boolean isSupported() {
        return keys.isSupported();
    }

    /** True if the phone cannot attest keys, as far as is known. */
    boolean isUnsupported() throws ClientException.State {
        return !isSupported() || state().isUnsupported && waitsUntil() > 0;
    }

    // Keys

    /** The key that the gateway knows. Callers at the same time share one enrolment. */
    Key enrolledKey() throws IOException {
        Key key = knownKey();
        while (key == null) {
            // It is null if this thread waited for a reset.
            key = enrolling.run(this::enrolNow);
        }
        return key;
    }

    private Key knownKey() throws ClientException.State {
        EnrolmentState state = state();
        return state.isEnrolled() ? new Key(state.keyId, alias(state.slot)) : null;
    }

    /**
     * Gives up a key that the gateway or the phone does not accept any more, unless another request
     * has done that already. False if another key was given up a short while ago: the cause must be
     * another one.
     */
    synchronized boolean giveUpKey(String keyId, RetryAdvice advice) throws ClientException.State {
        long now = clock.now();
        EnrolmentState state = state();
        if (!keyId.equals(state.keyId)) {
            return true;
        }
        double interval = configuration.retries.keyInterval(advice != null ? advice : state.advice);
        if (state.renewedAt > 0 && Math.abs(now - state.renewedAt) < interval * 1000) {
            return false;
        }
        EnrolmentState next = new EnrolmentState();
        next.slot = state.slot;
        next.renewedAt = now;
        next.advice = state.advice;
        keep(next);
        forget.run();
        return true;
    }

    /** Forgets the key and every wait. */
    void reset() throws IOException {
        boolean[] isDone = {false};
        while (!isDone[0]) {
            // An enrolment under way would bring its key back.
            enrolling.awaitEnd();
            try {
                enrolling.run(() -> {
                    isDone[0] = true;
                    resetNow();
                    return null;
                });
            } catch (IOException error) {
                // Another enrolment may have begun meanwhile and failed.
                if (isDone[0] || Thread.currentThread().isInterrupted()) {
                    throw error;
                }
            }
        }
    }

    private void resetNow() throws ClientException.State {
        EnrolmentState next = new EnrolmentState();
        next.slot = state().slot;
        next.renewedAt = clock.now();
        keep(next);
        delayUnsaved(0);
        forget.run();
        for (int slot = 0; slot < 2; slot++) {
            deleteKey(slot);
        }
    }

    private void deleteKey(int slot) {
        try {
            keys.delete(alias(slot));
        } catch (KeyException error) {
            // A new key takes its place later.
        }
    }

    /** Counts failures to sign in a row. */
    synchronized void countFailures(int count, String keyId) throws ClientException.State {
        if (keyId.equals(state().keyId) && state().failures != count) {
            EnrolmentState next = state().copy();
            next.failures = count;
            try {
                keep(next);
            } catch (ClientException.State error) {
                // Signing the request matters more than saving the state.
            }
        }
    }

    // Steps

    private Key enrolNow() throws IOException {
        Key known = knownKey();
        if (known != null) {
            return known;
        }
        long until = waitsUntil();
        if (until > 0) {
            throw new ClientException.TryLater(until);
        }
        try {
            Key key = takeSteps();
            delayUnsaved(0);
            return key;
        } catch (ClientException.State error) {
            delayUnsaved(unsavedCount + 1);
            throw error;
        }
    }

    /**
     * Begins the wait after this many states that could not be saved. Without it, each request
     * would make a key that no launch knows.
     */
    private synchronized void delayUnsaved(int count) {
        RetryPolicy retries = configuration.retries;
        unsavedCount = count;
        unsavedLength = count == 0 ? 0 : (long) (1000 * retries.wait(
                count, null, retries.enrolmentWaitMax, null, clock.chance()));
        unsavedUntil = clock.now() + unsavedLength;
    }

    private Key takeSteps() throws IOException {
        EnrolmentState next = state().copy();
        next.isUnsupported = false;
        while (true) {
            FailureReport.Phase[] phase = {FailureReport.Phase.CHALLENGE};
            try {
                step(next, phase);
                keep(next.copy());
                if (next.isEnrolled()) {
                    deleteKey(1 - next.slot);
                    return new Key(next.keyId, alias(next.slot));
                }
            } catch (IOException error) {
                if (error instanceof ClientException.State) {
                    throw error;
                }
                Remedy remedy = Remedy.of(error);
                reports.note(phase[0], error, next.failures + 1);
                if (remedy == Remedy.NEW_KEY && next.uselessKeys == 0) {
                    next.dropUselessKey();
                    keep(next.copy());
                    continue;
                }
                failed(next, error, remedy);
                keep(next.copy());
                // No other request may come before the end of the wait.
                gateway.tellFailure();
                throw error;
            }
        }
    }

    /** Takes one step, and notes in {@code phase} what it is about to do. */
    private void step(EnrolmentState next, FailureReport.Phase[] phase) throws IOException {
        switch (next.stage) {
            case NONE:
                Gateway.Challenge answer = gateway.challenge(
                        "/attest/challenge", "installation", configuration.installation);
                if (answer.retry != null) {
                    next.advice = answer.retry;
                }
                phase[0] = FailureReport.Phase.KEY;
                make(next, answer.token);
                return;
            case MADE:
                phase[0] = FailureReport.Phase.VERIFY;
                Gateway.Attested attested = gateway.verify(next, ticket());
                challenges.keep(attested.response.header(HeaderName.CHALLENGE), clock.now());
                keepTicket(attested.ticket);
                next.stage = EnrolmentState.Stage.ENROLLED;
                next.challenge = null;
                next.chain = new ArrayList<>();
                next.failures = 0;
                next.uselessKeys = 0;
                next.waitUntil = 0;
                return;
            default:
                return;
        }
    }

    /** Null if there is none. Without its ticket the app is another installation, and works. */
    private String ticket() {
        try {
            return tickets.load();
        } catch (IOException error) {
            return null;
        }
    }

    private void keepTicket(String ticket) {
        if (ticket == null) {
            return;
        }
        try {
            tickets.save(ticket);
        } catch (IOException error) {
            // The key is enrolled, which matters more.
        }
    }

    private void make(EnrolmentState next, String token) throws KeyException {
        // The key before may still be signing for other threads.
        int slot = 1 - next.slot;
        AttestedKeyStore.AttestedKey key =
                keys.create(alias(slot), ClientData.attestationChallenge(token));
        List<String> chain = new ArrayList<>();
        for (byte[] certificate : key.chain) {
            chain.add(Base64.encode(certificate));
        }
        next.stage = EnrolmentState.Stage.MADE;
        next.slot = slot;
        next.keyId = ClientData.keyId(key.point);
        next.challenge = token;
        next.chain = chain;
    }

    // Failures

    /**
     * The time before which nothing may be tried; 0 for none. If the clock was set back since the
     * wait began, it is not known how much of the wait is over, so it begins anew: once, and never
     * for longer than it was.
     */
    private synchronized long waitsUntil() throws ClientException.State {
        long now = clock.now();
        if (unsavedUntil > now && now + unsavedLength >= unsavedUntil) {
            return unsavedUntil;
        }
        EnrolmentState state = state();
        if (state.waitUntil <= now) {
            return 0;
        }
        if (now + state.waitLength < state.waitUntil) {
            EnrolmentState next = state.copy();
            next.waitUntil = now + next.waitLength;
            keep(next);
            return next.waitUntil;
        }
        return state.waitUntil;
    }

    /** Notes a failure and the end of the wait. */
    private void failed(EnrolmentState next, IOException error, Remedy remedy) {
        RetryPolicy retries = configuration.retries;
        long now = clock.now();
        Refusal refusal = error instanceof ClientException.Refused
                ? ((ClientException.Refused) error).refusal : null;
        RetryAdvice advice = refusal != null ? refusal.retry
                : error instanceof KeyException ? next.advice : null;
        next.failures++;
        switch (remedy) {
            case WAIT:
                // Being offline is no reason for a long wait.
                double limit = error instanceof ClientException
                        ? retries.enrolmentWaitMax : retries.waitMax;
                next.wait(now, retries.wait(
                        next.failures, refusal == null ? null : refusal.retryAfter, limit, advice,
                        clock.chance()));
                return;
            case NEW_KEY:
                // Another new key right away would fail in the same way.
                next.dropUselessKey();
                next.wait(now, RetryPolicy.keyWait(
                        next.uselessKeys,
                        retries.keyInterval(advice != null ? advice : next.advice)));
                return;
            default:
                next.isUnsupported = error instanceof KeyException;
                if (next.isUnsupported || refusal != null) {
                    Double first = refusal == null || advice == null ? null : advice.first();
                    next.wait(now, first != null ? first : retries.enrolmentWaitMax);
                }
        }
    }
}
