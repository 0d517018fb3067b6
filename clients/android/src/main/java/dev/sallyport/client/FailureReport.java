package dev.sallyport.client;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLPeerUnverifiedException;

/** A failure on this phone, for the header {@code X-App-Attest-Failure}. */
final class FailureReport {
    enum Phase {
        SUPPORT("support"),
        KEY("key"),
        CHALLENGE("challenge"),
        VERIFY("verify"),
        ASSERT("assert"),
        REQUEST("request");

        final String word;

        Phase(String word) {
            this.word = word;
        }
    }

    final Phase phase;
    final String code;
    final int attempt;

    private FailureReport(Phase phase, String code, int attempt) {
        this.phase = phase;
        this.code = code;
        this.attempt = Math.min(Math.max(attempt, 1), 99);
    }

    /** Null for an error that is no failure, such as a cancelled request or a wait. */
    static FailureReport of(Phase phase, IOException error, int attempt) {
        String code = code(error);
        return code == null ? null : new FailureReport(phase, code, attempt);
    }

    /** True if the phone failed. The gateway hears of failures of the network anyway. */
    boolean isOfDevice() {
        return phase == Phase.SUPPORT || phase == Phase.KEY || phase == Phase.ASSERT;
    }

    /** The header's value. Parts of the platform that are no words would only spoil the rest. */
    String text(AppInfo app) {
        StringBuilder text = new StringBuilder("phase=" + phase.word + ";code=" + code);
        if (app.system.matches("[1-9][0-9]?([.][0-9]{1,2}){0,2}")) {
            text.append(";os=").append(app.system);
        }
        text.append(";try=").append(attempt).append(";platform=android");
        if (isWord(app.name)) {
            text.append(";app=").append(app.name);
        }
        if (isWord(app.version)) {
            text.append(";version=").append(app.version);
        }
        return text.toString();
    }

    private static boolean isWord(String text) {
        return text.matches("[A-Za-z0-9._-]{1,128}");
    }

    private static String code(IOException error) {
        if (error instanceof KeyException) {
            String code = ((KeyException) error).code;
            return isWord(code) ? code : "other";
        }
        if (error instanceof ClientException.Unsupported) {
            return "unsupported";
        }
        if (error instanceof ClientException.Refused) {
            return "refused";
        }
        if (error instanceof ClientException.UnexpectedAnswer) {
            return "unexpectedAnswer";
        }
        if (error instanceof ClientException.State) {
            return "storage";
        }
        return error instanceof ClientException ? null : networkCode(error);
    }

    private static String networkCode(IOException error) {
        if (error instanceof SocketTimeoutException) {
            return "timedOut";
        }
        if (error instanceof InterruptedIOException) {
            // OkHttp says so if a whole call took too long.
            return "timeout".equals(error.getMessage()) ? "timedOut" : null;
        }
        if (error instanceof UnknownHostException || error instanceof ConnectException
                || error instanceof NoRouteToHostException) {
            return "unreachable";
        }
        if (error instanceof SSLHandshakeException
                || error instanceof SSLPeerUnverifiedException) {
            return "untrusted";
        }
        if (error instanceof SocketException || error instanceof EOFException) {
            return "connectionLost";
        }
        // OkHttp says so if the app cancelled the call.
        return "Canceled".equals(error.getMessage()) ? null : "other";
    }
}
