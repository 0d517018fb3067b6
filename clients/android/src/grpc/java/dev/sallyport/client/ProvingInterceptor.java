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
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;

/**
 * Proves the gRPC calls with one request message that go to the client's gateway, and leaves others
 * alone: give those that stream requests a {@link SessionTokenCredentials}.
 *
 * <p>The digest covers the message with gRPC's prefix, so it is serialised once, here, and sent
 * without compression. A call that fails because of its proof ends as {@code UNAUTHENTICATED} or
 * {@code UNAVAILABLE}, and the cause of its status is the client's exception.
 */
public final class ProvingInterceptor implements ClientInterceptor {
    private final AttestClient client;
    private final AttestClient.Proof proof;
    private final Executor executor;
    private final String defaultPort;
    private final String authority;

    /**
     * @param executor Runs the client, which blocks: it needs a thread for each call, beside those
     *     of the channel.
     */
    public ProvingInterceptor(AttestClient client, AttestClient.Proof proof, Executor executor) {
        this.client = client;
        this.proof = proof;
        this.executor = executor;
        String origin = Target.of(client.configuration().gateway).origin;
        defaultPort = origin.startsWith("https:") ? ":443" : ":80";
        authority = withoutPort(origin.substring(origin.indexOf("://") + 3));
    }

    /** Host and port in lower case, the default port left out. */
    private String withoutPort(String authority) {
        String text = authority.toLowerCase(Locale.ROOT);
        return text.endsWith(defaultPort)
                ? text.substring(0, text.length() - defaultPort.length()) : text;
    }

    @Override
    public <A, B> ClientCall<A, B> interceptCall(
            MethodDescriptor<A, B> method, CallOptions options, Channel next) {
        String target = next.authority();
        boolean isOurs = target != null && withoutPort(target).equals(authority);
        return isOurs && method.getType().clientSendsOneMessage()
                ? new ProvedCall<>(method, options.withCompression(null), next)
                : next.newCall(method, options);
    }

    /** Serialised messages, which are sent as they are. */
    private static final class Written implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] message) {
            return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream stream) {
            throw new UnsupportedOperationException("requests are only sent");
        }
    }

    private static byte[] read(InputStream stream) throws IOException {
        try (InputStream in = stream) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Body.copy(in, out);
            return out.toByteArray();
        }
    }

    /** The message as it is sent: a flag for compression and the length before it. */
    private static byte[] framed(byte[] message) {
        byte[] framed = new byte[5 + message.length];
        for (int index = 0; index < 4; index++) {
            framed[1 + index] = (byte) (message.length >>> (24 - 8 * index));
        }
        System.arraycopy(message, 0, framed, 5, message.length);
        return framed;
    }

    static Metadata.Key<String> key(String name) {
        return Metadata.Key.of(
                name.toLowerCase(Locale.ROOT), Metadata.ASCII_STRING_MARSHALLER);
    }

    /** A call that begins when its message is there, and begins again if the gateway says so. */
    private final class ProvedCall<A, B> extends ClientCall<A, B>
            implements Exchange<ProvedCall<A, B>.Attempt> {
        private final MethodDescriptor<A, B> method;
        private final CallOptions options;
        private final Channel channel;
        private Listener<B> listener;
        private Metadata headers;
        private byte[] message;
        // Guarded by this object.
        private Attempt current;
        private int requested;
        private boolean isCancelled;

        ProvedCall(MethodDescriptor<A, B> method, CallOptions options, Channel channel) {
            this.method = method;
            this.options = options;
            this.channel = channel;
        }

        @Override
        public void start(Listener<B> listener, Metadata headers) {
            this.listener = listener;
            this.headers = headers;
        }

        @Override
        public synchronized void request(int count) {
            requested += count;
            if (current != null) {
                current.call.request(count);
            }
        }

        @Override
        public synchronized void cancel(String text, Throwable cause) {
            isCancelled = true;
            if (current != null) {
                current.call.cancel(text, cause);
            }
        }

        @Override
        public void sendMessage(A content) {
            try {
                message = read(method.streamRequest(content));
            } catch (IOException error) {
                throw Status.INTERNAL.withCause(error).asRuntimeException();
            }
        }

        @Override
        public void halfClose() {
            executor.execute(this::run);
        }

        private void run() {
            try {
                String url = client.configuration().gateway;
                Request request = Request.post(
                        Target.of(url).origin + "/" + method.getFullMethodName(),
                        Body.of(framed(message)));
                String binding = client.configuration().sessionTokenHeader;
                if (binding != null && headers.get(key(binding)) != null) {
                    request = request.withHeader(binding, headers.get(key(binding)));
                }
                client.deliver(request, proof, client.configuration().whenUnproved, this)
                        .content.release();
            } catch (ClientException error) {
                close(Status.UNAUTHENTICATED, error);
            } catch (IOException error) {
                close(Status.UNAVAILABLE, error);
            } catch (RuntimeException error) {
                close(Status.INTERNAL, error);
            }
        }

        private void close(Status failure, Exception error) {
            boolean isCancelled;
            synchronized (this) {
                isCancelled = this.isCancelled;
            }
            Status status = isCancelled ? Status.CANCELLED : failure;
            listener.onClose(
                    status.withDescription(error.getMessage()).withCause(error), new Metadata());
        }

        @Override
        public Answer<Attempt> send(Request request) throws IOException {
            Metadata proved = new Metadata();
            proved.merge(headers);
            for (Request.Header header : request.headers) {
                proved.discardAll(key(header.name));
                proved.put(key(header.name), header.value);
            }
            Attempt attempt = new Attempt();
            synchronized (this) {
                if (isCancelled) {
                    // As OkHttp says it, so that it is reported as no failure.
                    throw new IOException("Canceled");
                }
                current = attempt;
                attempt.call.start(attempt, proved);
                attempt.call.request(requested);
            }
            attempt.call.sendMessage(message);
            attempt.call.halfClose();
            return attempt.answer();
        }

        /** One call of the channel, whose events go on when the API has answered. */
        private final class Attempt extends ClientCall.Listener<B> {
            private final ClientCall<byte[], B> call = channel.newCall(
                    method.toBuilder(new Written(), method.getResponseMarshaller()).build(),
                    options);
            private final CompletableFuture<Answer<Attempt>> answer = new CompletableFuture<>();
            private Status status;
            private Metadata trailers;

            Answer<Attempt> answer() throws IOException {
                try {
                    return answer.get();
                } catch (InterruptedException error) {
                    call.cancel("interrupted", error);
                    throw SingleFlight.interrupted();
                } catch (ExecutionException error) {
                    throw new IllegalStateException(error);
                }
            }

            @Override
            public void onHeaders(Metadata headers) {
                listener.onHeaders(headers);
                answer.complete(
                        new Answer<>(this, headers.get(key(HeaderName.CHALLENGE)), null));
            }

            @Override
            public void onMessage(B content) {
                listener.onMessage(content);
            }

            @Override
            public void onReady() {
                listener.onReady();
            }

            @Override
            public void onClose(Status status, Metadata trailers) {
                if (answer.isDone()) {
                    listener.onClose(status, trailers);
                    return;
                }
                this.status = status;
                this.trailers = trailers;
                // gRPC keeps the headers of an answer that is not gRPC's as trailers.
                boolean mayBeRefused = status.getCode() == Status.Code.UNAUTHENTICATED;
                Refusal refusal = mayBeRefused
                        ? Refusal.of(401, name -> trailers.get(key(name)), new byte[0]) : null;
                answer.complete(
                        new Answer<>(this, trailers.get(key(HeaderName.CHALLENGE)), refusal));
            }

            /** Hands on the end of a call that ended without headers. */
            void release() {
                if (status != null) {
                    listener.onClose(status, trailers);
                }
            }
        }
    }
}
