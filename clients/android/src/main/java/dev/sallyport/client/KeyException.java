package dev.sallyport.client;

/** A failure of the phone's key store. */
public final class KeyException extends ClientException {
    private static final long serialVersionUID = 1;

    /** The consequence of a failure. */
    public enum Kind {
        /** The same call may succeed later: the key store is busy, or needs the network. */
        TRANSIENT,
        /** The key is gone, or will never sign again. */
        LOST,
        /** This device cannot make a key of the wanted kind. */
        UNSUPPORTED,
        /** The cause is not known. After three such failures in a row a key is given up. */
        UNKNOWN
    }

    public final Kind kind;
    /**
     * The failure's name in reports to the gateway, of letters and digits: {@code keyStore16} for
     * the numeric code 16 of {@code android.security.KeyStoreException}.
     */
    public final String code;

    public KeyException(Kind kind, String code, Throwable cause) {
        super("the key store failed: " + code, cause);
        this.kind = kind;
        this.code = code;
    }

    /** True if another key may succeed. */
    boolean mayBlameKey() {
        return kind == Kind.LOST || kind == Kind.UNKNOWN;
    }
}
