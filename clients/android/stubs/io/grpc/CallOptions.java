package io.grpc;

public final class CallOptions {
    public static final CallOptions DEFAULT = new CallOptions(null, null);

    private final String compression;
    private final CallCredentials credentials;

    private CallOptions(String compression, CallCredentials credentials) {
        this.compression = compression;
        this.credentials = credentials;
    }

    public CallOptions withCompression(String compression) {
        return new CallOptions(compression, credentials);
    }

    public CallOptions withCallCredentials(CallCredentials credentials) {
        return new CallOptions(compression, credentials);
    }

    public String getCompressor() {
        return compression;
    }

    public CallCredentials getCredentials() {
        return credentials;
    }
}
