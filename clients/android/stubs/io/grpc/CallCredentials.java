package io.grpc;

import java.util.concurrent.Executor;

public abstract class CallCredentials {
    public abstract void applyRequestMetadata(
            RequestInfo info, Executor executor, MetadataApplier applier);

    public abstract static class RequestInfo {}

    public abstract static class MetadataApplier {
        public abstract void apply(Metadata headers);

        public abstract void fail(Status status);
    }
}
