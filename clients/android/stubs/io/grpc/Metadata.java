package io.grpc;

import java.util.Map;
import java.util.TreeMap;

public final class Metadata {
    public interface AsciiMarshaller<T> {}

    public static final AsciiMarshaller<String> ASCII_STRING_MARSHALLER =
            new AsciiMarshaller<String>() {};

    public abstract static class Key<T> {
        abstract String name();

        public static <T> Key<T> of(String name, AsciiMarshaller<T> marshaller) {
            return new Key<T>() {
                @Override
                String name() {
                    return name;
                }
            };
        }
    }

    /** For tests: the headers by name. */
    public final Map<String, Object> values = new TreeMap<>();

    public <T> void put(Key<T> key, T value) {
        values.put(key.name(), value);
    }

    @SuppressWarnings("unchecked")
    public <T> T get(Key<T> key) {
        return (T) values.get(key.name());
    }

    public <T> void discardAll(Key<T> key) {
        values.remove(key.name());
    }

    public void merge(Metadata other) {
        values.putAll(other.values);
    }
}
