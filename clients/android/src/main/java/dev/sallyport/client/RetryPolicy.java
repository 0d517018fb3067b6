package dev.sallyport.client;

/**
 * The rules for trying again after a failure, in seconds. The advice in the gateway's answers
 * ({@link RetryAdvice}) has precedence. Do not change a policy that a client uses.
 */
public final class RetryPolicy {
    /** The longest wait for another key, unless the gateway advises a longer one. */
    private static final double KEY_WAIT_MAX = 24 * 3600;

    /** The most attempts for one request. */
    public int attemptsMax = 3;
    /**
     * The longest wait of a request. If a longer one is needed, the request fails with a refusal or
     * an error that names the time.
     */
    public double waitMax = 10;
    /** The first wait. Each failure after it doubles the wait. */
    public double initialWait = 1;
    /** The longest wait between two attempts to enrol. */
    public double enrolmentWaitMax = 6 * 3600;
    /** The time before a second new key may be made after the gateway asked for one. */
    public double newKeyInterval = 3600;

    /**
     * The wait after this many failures in a row: the longer of {@code retryAfter} and the first
     * wait, which each further failure multiplies up to the limit. Up to a quarter is added at
     * random, so that phones that failed together do not return together.
     */
    double wait(int failures, Double retryAfter, double limit, RetryAdvice advice, double chance) {
        double first = or(advice == null ? null : advice.first(), initialWait);
        double factor = or(advice == null ? null : advice.factor(), 2);
        double longest = Math.max(or(advice == null ? null : advice.longest(), limit), first);
        int count = Math.min(Math.max(failures - 1, 0), 30);
        double wait = Math.min(first * Math.pow(factor, count), longest);
        return Math.max(or(retryAfter, 0), wait) * (1 + chance / 4);
    }

    int attempts(RetryAdvice advice) {
        Integer attempts = advice == null ? null : advice.attempts();
        return attempts == null ? attemptsMax : attempts;
    }

    double keyInterval(RetryAdvice advice) {
        return or(advice == null ? null : advice.keyInterval(), newKeyInterval);
    }

    /**
     * The wait for another key after this many useless ones in a row. The first of them was
     * replaced at once. The cause may last, so each further one doubles the wait.
     */
    static double keyWait(int uselessKeys, double interval) {
        int count = Math.min(Math.max(uselessKeys - 2, 0), 30);
        return Math.max(Math.min(interval * Math.pow(2, count), KEY_WAIT_MAX), interval);
    }

    private static double or(Double value, double otherwise) {
        return value == null ? otherwise : value;
    }
}
