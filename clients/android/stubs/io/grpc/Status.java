package io.grpc;

public final class Status {
    public enum Code {
        OK,
        CANCELLED,
        INTERNAL,
        UNAUTHENTICATED,
        UNAVAILABLE
    }

    public static final Status OK = new Status(Code.OK, null, null);
    public static final Status CANCELLED = new Status(Code.CANCELLED, null, null);
    public static final Status INTERNAL = new Status(Code.INTERNAL, null, null);
    public static final Status UNAUTHENTICATED = new Status(Code.UNAUTHENTICATED, null, null);
    public static final Status UNAVAILABLE = new Status(Code.UNAVAILABLE, null, null);

    private final Code code;
    private final String description;
    private final Throwable cause;

    private Status(Code code, String description, Throwable cause) {
        this.code = code;
        this.description = description;
        this.cause = cause;
    }

    public Code getCode() {
        return code;
    }

    public Throwable getCause() {
        return cause;
    }

    public Status withDescription(String description) {
        return new Status(code, description, cause);
    }

    public Status withCause(Throwable cause) {
        return new Status(code, description, cause);
    }

    public RuntimeException asRuntimeException() {
        return new IllegalStateException(description, cause);
    }
}
