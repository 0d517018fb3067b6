package dev.sallyport.client;

import io.grpc.CallCredentials;
import io.grpc.Metadata;
import io.grpc.Status;
import java.io.IOException;
import java.util.concurrent.Executor;

/**
 * Gives gRPC calls of any kind a session token, for routes with {@code accept: [assertion, token]}.
 * Use a channel with TLS, because its holder can send a token.
 */
public final class SessionTokenCredentials extends CallCredentials {
    private final AttestClient client;
    private final String binding;
    private final Executor executor;

    /**
     * @param binding The value of {@link Configuration.Builder#sessionTokenHeader} in the calls;
     *     null if tokens are not bound.
     * @param executor Runs the client, which blocks.
     */
    public SessionTokenCredentials(AttestClient client, String binding, Executor executor) {
        this.client = client;
        this.binding = binding;
        this.executor = executor;
    }

    @Override
    public void applyRequestMetadata(
            RequestInfo info, Executor executor, MetadataApplier applier) {
        this.executor.execute(() -> {
            try {
                Metadata headers = new Metadata();
                headers.put(
                        ProvingInterceptor.key(HeaderName.TOKEN),
                        client.sessionToken(binding).text);
                applier.apply(headers);
            } catch (IOException error) {
                applier.fail(Status.UNAUTHENTICATED.withCause(error));
            }
        });
    }
}
