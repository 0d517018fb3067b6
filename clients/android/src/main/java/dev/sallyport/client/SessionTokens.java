package dev.sallyport.client;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;

/** The session token that the client has, and those that it fetches. */
final class SessionTokens {
    /** Fetches a token for a value of the header that tokens are bound to, or for null. */
    interface Source {
        SessionToken fetch(String binding) throws IOException;
    }

    /** Tells if the client still has a key. */
    interface KeyCheck {
        boolean isCurrent(String keyId) throws IOException;
    }

    private final ClientClock clock;
    private final Source source;
    private final KeyCheck keys;
    private SessionToken current;
    /** The number of times that all tokens were forgotten. */
    private int clearCount;
    /** The tokens that are being fetched, by the values that they are bound to. */
    private final Map<String, SingleFlight<SessionToken>> flights = new HashMap<>();

    SessionTokens(ClientClock clock, Source source, KeyCheck keys) {
        this.clock = clock;
        this.source = source;
        this.keys = keys;
    }

    /** Callers at the same time share one. */
    SessionToken token(String binding) throws IOException {
        SessionToken known = current(binding);
        if (known != null) {
            return known;
        }
        SingleFlight<SessionToken> flight;
        synchronized (this) {
            flight = flights.get(binding);
            if (flight == null) {
                flight = new SingleFlight<>();
                flights.put(binding, flight);
            }
        }
        try {
            return flight.run(() -> {
                SessionToken token = current(binding);
                return token != null ? token : keep(source.fetch(binding));
            });
        } finally {
            synchronized (this) {
                if (flight.isIdle()) {
                    flights.remove(binding, flight);
                }
            }
        }
    }

    private synchronized SessionToken current(String binding) {
        boolean isGood = current != null && current.until > clock.now()
                && Objects.equals(current.binding, binding);
        return isGood ? current : null;
    }

    /** Keeps a token, unless its key was given up while the token was on its way. */
    private SessionToken keep(SessionToken token) throws IOException {
        int count;
        synchronized (this) {
            count = clearCount;
        }
        boolean isCurrent = keys.isCurrent(token.keyId);
        synchronized (this) {
            if (isCurrent && count == clearCount) {
                current = token;
            }
        }
        return token;
    }

    /** The token with this text; null if the client does not have it, or no longer. */
    synchronized SessionToken named(String text) {
        return current != null && current.text.equals(text) ? current : null;
    }

    /** Forgets a token that was refused, unless it was replaced already. */
    synchronized void giveUp(SessionToken token) {
        if (current == token) {
            current = null;
        }
    }

    synchronized void clear() {
        current = null;
        clearCount++;
    }
}
