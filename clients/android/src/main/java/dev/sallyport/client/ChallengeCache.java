package dev.sallyport.client;

import java.util.ArrayDeque;
import java.util.Deque;

/** The challenges that answers brought, each for one request. */
final class ChallengeCache {
    private static final class Kept {
        final String token;
        final long until;

        Kept(String token, long until) {
            this.token = token;
            this.until = until;
        }
    }

    /** The most challenges. More requests are hardly under way at once. */
    private static final int COUNT_MAX = 64;
    /** The time that a request may need to reach the gateway, in milliseconds. */
    private static final long MARGIN = 10_000;

    private final Deque<Kept> kept = new ArrayDeque<>();
    /** The life of a challenge in milliseconds, as the gateway last stated it. */
    private long lifetime = 120_000;

    synchronized void learn(double seconds) {
        lifetime = (long) (Math.min(seconds, RetryAdvice.SECONDS_MAX) * 1000);
    }

    synchronized void keep(String token, long now) {
        if (token == null || token.isEmpty()) {
            return;
        }
        kept.addLast(new Kept(token, now + lifetime - MARGIN));
        if (kept.size() > COUNT_MAX) {
            kept.removeFirst();
        }
    }

    /** Takes out the newest one; null if none is worth trying. */
    synchronized String take(long now) {
        for (Kept newest = kept.pollLast(); newest != null; newest = kept.pollLast()) {
            // A longer life than any means that the clock was set back.
            if (newest.until > now && newest.until - now <= lifetime) {
                return newest.token;
            }
        }
        return null;
    }

    /** Forgets all challenges, because they belong to a key that is gone. */
    synchronized void clear() {
        kept.clear();
    }
}
