package dev.sallyport.client;

import android.annotation.TargetApi;
import android.os.Build;
import android.security.KeyStoreException;
import android.security.keystore.KeyPermanentlyInvalidatedException;
import android.security.keystore.StrongBoxUnavailableException;
import java.security.InvalidKeyException;
import java.security.UnrecoverableKeyException;

/** The meaning of the exceptions of Android's Keystore. */
final class KeyFailures {
    static final String STRONGBOX_UNAVAILABLE = "strongBoxUnavailable";
    /** The key is not in secure hardware. */
    static final String SOFTWARE_KEY = "softwareKey";
    /** There is no chain of certificates. */
    static final String NO_CHAIN = "noChain";
    static final String KEY_MISSING = "keyMissing";
    private static final String KEY_INVALIDATED = "keyPermanentlyInvalidated";

    private static final int ANDROID_9 = 28;
    private static final int ANDROID_13 = 33;
    /** An exception whose cause is itself must not keep the search going. */
    private static final int DEPTH_MAX = 10;

    private KeyFailures() {}

    /** @param isCreating True if a key was being made, false if one was used. */
    static KeyException failure(Throwable error, boolean isCreating) {
        Throwable cause = error;
        for (int depth = 0; cause != null && depth < DEPTH_MAX; depth++) {
            if (cause instanceof KeyPermanentlyInvalidatedException) {
                return new KeyException(KeyException.Kind.LOST, KEY_INVALIDATED, error);
            }
            if (Build.VERSION.SDK_INT >= ANDROID_9 && Android9.isStrongBoxUnavailable(cause)) {
                return new KeyException(
                        KeyException.Kind.UNSUPPORTED, STRONGBOX_UNAVAILABLE, error);
            }
            if (Build.VERSION.SDK_INT >= ANDROID_13 && Android13.isKnown(cause)) {
                return Android13.failure(cause, error, isCreating);
            }
            cause = cause.getCause();
        }
        String code = error instanceof UnrecoverableKeyException ? "unrecoverableKey"
                : error instanceof InvalidKeyException ? "invalidKey" : "other";
        return new KeyException(KeyException.Kind.UNKNOWN, code, error);
    }

    /** What older systems lack is in classes that they do not load. */
    @TargetApi(ANDROID_9)
    private static final class Android9 {
        static boolean isStrongBoxUnavailable(Throwable error) {
            return error instanceof StrongBoxUnavailableException;
        }
    }

    @TargetApi(ANDROID_13)
    private static final class Android13 {
        static boolean isKnown(Throwable error) {
            return error instanceof KeyStoreException;
        }

        static KeyException failure(Throwable cause, Throwable error, boolean isCreating) {
            KeyStoreException failure = (KeyStoreException) cause;
            int number = failure.getNumericErrorCode();
            return new KeyException(
                    failure.isTransientFailure() ? KeyException.Kind.TRANSIENT
                            : kind(number, isCreating),
                    "keyStore" + number, error);
        }

        private static KeyException.Kind kind(int number, boolean isCreating) {
            switch (number) {
                case KeyStoreException.ERROR_KEY_DOES_NOT_EXIST:
                case KeyStoreException.ERROR_KEY_CORRUPTED:
                    return KeyException.Kind.LOST;
                case KeyStoreException.ERROR_ID_ATTESTATION_FAILURE:
                case KeyStoreException.ERROR_ATTESTATION_CHALLENGE_TOO_LARGE:
                case KeyStoreException.ERROR_UNIMPLEMENTED:
                case KeyStoreException.ERROR_ATTESTATION_KEYS_UNAVAILABLE:
                    return isCreating
                            ? KeyException.Kind.UNSUPPORTED : KeyException.Kind.UNKNOWN;
                default:
                    return KeyException.Kind.UNKNOWN;
            }
        }
    }
}
