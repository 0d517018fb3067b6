package dev.sallyport.client;

import java.util.Objects;
import java.util.concurrent.Callable;

/** What tests expect. */
final class Expect {
    private Expect() {}

    static void isTrue(boolean condition) {
        if (!condition) {
            throw new AssertionError("expected to be true");
        }
    }

    static void equal(Object found, Object expected) {
        if (!Objects.equals(found, expected)) {
            throw new AssertionError("found " + found + ", expected " + expected);
        }
    }

    static <E extends Throwable> E fails(Class<E> type, Callable<?> body) {
        Object value;
        try {
            value = body.call();
        } catch (Throwable error) {
            if (type.isInstance(error)) {
                return type.cast(error);
            }
            throw new AssertionError("another error", error);
        }
        throw new AssertionError("no error, but " + value);
    }

    static KeyException.Kind kind(Callable<?> body) {
        return fails(KeyException.class, body).kind;
    }

    static String refused(Callable<?> body) {
        return fails(ClientException.Refused.class, body).refusal.code;
    }
}
