package dev.sallyport.client;

import java.io.IOException;

/**
 * A failure of the client or of the gateway. Failures of the network are other
 * {@link IOException}s, and are not wrapped.
 */
public class ClientException extends IOException {
    private static final long serialVersionUID = 1;

    ClientException(String message) {
        super(message);
    }

    ClientException(String message, Throwable cause) {
        super(message, cause);
    }

    /** This device cannot attest a key, and the configuration has no developer token. */
    public static final class Unsupported extends ClientException {
        private static final long serialVersionUID = 1;

        Unsupported() {
            super("this device cannot attest keys");
        }
    }

    /** The gateway refuses, and the client cannot change that now. */
    public static final class Refused extends ClientException {
        private static final long serialVersionUID = 1;

        public final transient Refusal refusal;

        Refused(Refusal refusal) {
            super("the gateway refuses: " + refusal.status + " " + refusal.code);
            this.refusal = refusal;
        }
    }

    /**
     * An enrolment has to wait. Its state is kept, also between launches of the app.
     */
    public static final class TryLater extends ClientException {
        private static final long serialVersionUID = 1;

        /** The end of the wait, in milliseconds since 1970. */
        public final long until;

        TryLater(long until) {
            super("the enrolment waits until " + until);
            this.until = until;
        }
    }

    /** An endpoint of the gateway gave an answer that is not the gateway's. */
    public static final class UnexpectedAnswer extends ClientException {
        private static final long serialVersionUID = 1;

        public final int status;

        UnexpectedAnswer(int status) {
            super("unexpected answer with status " + status);
            this.status = status;
        }
    }

    /** The request cannot be signed or sent in this form. */
    public static final class InvalidRequest extends ClientException {
        private static final long serialVersionUID = 1;

        InvalidRequest(String message) {
            super(message);
        }
    }

    /**
     * The state of the enrolment cannot be read or saved, for example before the first unlock after
     * a start of the phone.
     */
    public static final class State extends ClientException {
        private static final long serialVersionUID = 1;

        State(IOException cause) {
            super("the state of the enrolment cannot be read or saved", cause);
        }
    }
}
