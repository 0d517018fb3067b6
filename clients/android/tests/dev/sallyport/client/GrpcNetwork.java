package dev.sallyport.client;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A channel that sends the bytes of gRPC's calls by another transport. */
final class GrpcNetwork extends Channel {
    private static final MethodDescriptor.Marshaller<String> TEXTS =
            new MethodDescriptor.Marshaller<String>() {
                @Override
                public InputStream stream(String value) {
                    return new ByteArrayInputStream(value.getBytes(StandardCharsets.UTF_8));
                }

                @Override
                public String parse(InputStream stream) {
                    try {
                        return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
                    } catch (IOException error) {
                        throw new UncheckedIOException(error);
                    }
                }
            };

    final List<CallOptions> options = new ArrayList<>();
    private final Transport network;
    private final String url;

    GrpcNetwork(Transport network, String url) {
        this.network = network;
        this.url = url;
    }

    static MethodDescriptor<String, String> method(MethodDescriptor.MethodType type) {
        return new MethodDescriptor.Builder<>(type, "api/x", TEXTS, TEXTS).build();
    }

    @Override
    public String authority() {
        return url.substring("http://".length());
    }

    @Override
    public <A, B> ClientCall<A, B> newCall(MethodDescriptor<A, B> method, CallOptions options) {
        this.options.add(options);
        return new NetworkCall<>(method);
    }

    private final class NetworkCall<A, B> extends ClientCall<A, B> {
        private final MethodDescriptor<A, B> method;
        private final ByteArrayOutputStream body = new ByteArrayOutputStream();
        private Listener<B> listener;
        private Metadata headers;
        private boolean isRequested;

        NetworkCall(MethodDescriptor<A, B> method) {
            this.method = method;
        }

        @Override
        public void start(Listener<B> listener, Metadata headers) {
            this.listener = listener;
            this.headers = headers;
        }

        @Override
        public void request(int count) {
            isRequested = count > 0;
        }

        @Override
        public void cancel(String message, Throwable cause) {
            listener.onClose(Status.CANCELLED, new Metadata());
        }

        @Override
        public void sendMessage(A message) {
            try {
                byte[] bytes = method.streamRequest(message).readAllBytes();
                int length = bytes.length;
                body.write(new byte[] {
                    0, (byte) (length >> 24), (byte) (length >> 16), (byte) (length >> 8),
                    (byte) length
                });
                body.write(bytes);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override
        public void halfClose() {
            Request request = Request.post(
                    url + "/" + method.getFullMethodName(), Body.of(body.toByteArray()));
            for (String name : headers.values.keySet()) {
                request = request.withHeader(name, headers.get(ProvingInterceptor.key(name)));
            }
            try {
                answer(network.send(request));
            } catch (IOException error) {
                listener.onClose(Status.UNAVAILABLE.withCause(error), new Metadata());
            }
        }

        private void answer(Response response) {
            Metadata metadata = new Metadata();
            for (String name : new String[] {"X-App-Attest-Challenge", "WWW-Authenticate"}) {
                if (response.header(name) != null) {
                    metadata.put(ProvingInterceptor.key(name), response.header(name));
                }
            }
            if (response.status != 200) {
                boolean isRefused = response.status == 401;
                listener.onClose(
                        isRefused ? Status.UNAUTHENTICATED : Status.UNAVAILABLE, metadata);
                return;
            }
            listener.onHeaders(metadata);
            Expect.isTrue(isRequested);
            listener.onMessage(method.parseResponse(new ByteArrayInputStream(response.body)));
            listener.onClose(Status.OK, new Metadata());
        }
    }

    /** Makes a call as generated code does, and returns its end and what was received. */
    Outcome call(ClientInterceptor interceptor, MethodDescriptor.MethodType type, String text) {
        Outcome outcome = new Outcome();
        ClientCall<String, String> call = interceptor.interceptCall(
                method(type), CallOptions.DEFAULT.withCompression("gzip"), this);
        call.start(outcome, new Metadata());
        call.request(2);
        call.sendMessage(text);
        call.halfClose();
        return outcome;
    }

    static final class Outcome extends ClientCall.Listener<String> {
        private final CompletableFuture<Status> status = new CompletableFuture<>();
        volatile String message;

        @Override
        public void onMessage(String message) {
            this.message = message;
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            Expect.isTrue(this.status.complete(status));
        }

        Status status() throws Exception {
            return status.get();
        }
    }
}
