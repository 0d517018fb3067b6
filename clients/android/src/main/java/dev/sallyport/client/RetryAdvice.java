package dev.sallyport.client;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The advice in an answer of the gateway about another try: its member {@code retry}. Values that
 * make no sense are ignored, whichever server wrote the answer.
 */
public final class RetryAdvice {
    /** The longest wait that an answer can ask for, in seconds. */
    static final double SECONDS_MAX = 7 * 24 * 3600;
    private static final int ATTEMPTS_MAX = 10;
    private static final String[] NAMES = {"after", "backoff", "longest", "max", "new_key_after"};

    private final Map<String, Object> members = new LinkedHashMap<>();

    private RetryAdvice() {}

    /** The advice in an object; null if there is no object. */
    static RetryAdvice of(Map<String, Object> object) {
        if (object == null) {
            return null;
        }
        RetryAdvice advice = new RetryAdvice();
        for (String name : NAMES) {
            Double value = Json.number(object, name);
            if (value != null && !value.isInfinite()) {
                advice.members.put(name, value);
            }
        }
        return advice;
    }

    /** The members, for keeping. */
    Map<String, Object> members() {
        return members;
    }

    private Double bounded(String name, double least, double most) {
        Double value = Json.number(members, name);
        return value == null ? null : Double.valueOf(Math.min(Math.max(value, least), most));
    }

    /** The seconds before the first try; null if the answer does not say. */
    public Double first() {
        return bounded("after", 0, SECONDS_MAX);
    }

    /** The factor by which each further wait is longer; null if the answer does not say. */
    public Double factor() {
        return bounded("backoff", 1, 10);
    }

    /** The seconds of the longest wait; null if the answer does not say. */
    public Double longest() {
        return bounded("longest", 0, SECONDS_MAX);
    }

    /** The most attempts for the request; null if the answer does not say. */
    public Integer attempts() {
        Double more = bounded("max", 0, ATTEMPTS_MAX - 1);
        return more == null ? null : Integer.valueOf(1 + more.intValue());
    }

    /** The seconds before another new key; null if the answer does not say. */
    public Double keyInterval() {
        return bounded("new_key_after", 0, SECONDS_MAX);
    }
}
