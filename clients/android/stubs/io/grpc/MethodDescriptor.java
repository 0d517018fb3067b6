package io.grpc;

import java.io.InputStream;

public final class MethodDescriptor<A, B> {
    public interface Marshaller<T> {
        InputStream stream(T value);

        T parse(InputStream stream);
    }

    public enum MethodType {
        UNARY,
        CLIENT_STREAMING,
        SERVER_STREAMING,
        BIDI_STREAMING;

        public final boolean clientSendsOneMessage() {
            return this == UNARY || this == SERVER_STREAMING;
        }
    }

    public static final class Builder<A, B> {
        private final MethodType type;
        private final String name;
        private final Marshaller<A> request;
        private final Marshaller<B> response;

        /** For tests. */
        public Builder(
                MethodType type, String name, Marshaller<A> request, Marshaller<B> response) {
            this.type = type;
            this.name = name;
            this.request = request;
            this.response = response;
        }

        public MethodDescriptor<A, B> build() {
            return new MethodDescriptor<>(this);
        }
    }

    private final Builder<A, B> parts;

    private MethodDescriptor(Builder<A, B> parts) {
        this.parts = parts;
    }

    public MethodType getType() {
        return parts.type;
    }

    public String getFullMethodName() {
        return parts.name;
    }

    public Marshaller<B> getResponseMarshaller() {
        return parts.response;
    }

    public InputStream streamRequest(A message) {
        return parts.request.stream(message);
    }

    public B parseResponse(InputStream stream) {
        return parts.response.parse(stream);
    }

    public <C, D> Builder<C, D> toBuilder(Marshaller<C> request, Marshaller<D> response) {
        return new Builder<>(parts.type, parts.name, request, response);
    }
}
