package android.security;

public class KeyStoreException extends Exception {
    public static final int ERROR_OTHER = 1;
    public static final int ERROR_KEY_DOES_NOT_EXIST = 6;
    public static final int ERROR_KEY_CORRUPTED = 7;
    public static final int ERROR_ID_ATTESTATION_FAILURE = 8;
    public static final int ERROR_ATTESTATION_CHALLENGE_TOO_LARGE = 9;
    public static final int ERROR_KEYMINT_FAILURE = 10;
    public static final int ERROR_UNIMPLEMENTED = 12;
    public static final int ERROR_ATTESTATION_KEYS_UNAVAILABLE = 16;

    private static final long serialVersionUID = 1;

    private final int code;
    private final boolean isTransient;

    /** For tests: apps cannot make one. */
    public KeyStoreException(int code, boolean isTransient) {
        this.code = code;
        this.isTransient = isTransient;
    }

    public int getNumericErrorCode() {
        return code;
    }

    public boolean isTransientFailure() {
        return isTransient;
    }
}
