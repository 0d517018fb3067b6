package dev.sallyport.client;

import java.io.IOException;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

final class ReportTests extends Site {
    private static final String TAIL = ";platform=android;app=com.example.app;version=410";

    ReportTests() throws IOException {}

    /** The reports that came, in their order. */
    private List<String> reports() {
        List<String> reports = new ArrayList<>();
        for (FakeGateway.Seen seen : gateway.requests) {
            String report = seen.header("X-App-Attest-Failure");
            if (report != null) {
                reports.add(seen.path + " " + report);
            }
        }
        return reports;
    }

    @Claim("a phone that makes no key says so at once, for no request follows")
    void key() throws Exception {
        settings.whenUnproved(Configuration.Unproved.FAIL);
        keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
        Expect.kind(() -> send(client()));
        List<String> expected = Arrays.asList(
                "/attest/failure phase=key;code=keyStore16;os=14;try=1" + TAIL);
        Expect.equal(reports(), expected);
        // A wait is no failure.
        Expect.fails(ClientException.TryLater.class, () -> send(client()));
        clock.advance(1.1);
        Expect.equal(send(client()), 200);
        Expect.equal(reports(), expected);
    }

    @Claim("what another request mends goes with that, once")
    void mended() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        keys.failSigning(KeyException.Kind.LOST, "keyPermanentlyInvalidated", 1);
        Expect.equal(send(client), 200);
        Expect.equal(send(client), 200);
        Expect.equal(reports(), Arrays.asList(
                "/attest/challenge phase=assert;code=keyPermanentlyInvalidated;os=14;try=1"
                        + TAIL));
    }

    @Claim("a report is repeated until it is heard, and sends no request for that")
    void unheard() throws Exception {
        AttestClient client = client();
        Expect.equal(send(client), 200);
        network.lose("/api/x");
        Expect.fails(SocketException.class, () -> send(client));
        Expect.equal(send(client), 200);
        Expect.equal(send(client), 200);
        Expect.equal(reports(), Arrays.asList(
                "/assert/challenge phase=request;code=connectionLost;os=14;try=1" + TAIL));
    }

    @Claim("a refused chain is reported, and the try is counted")
    void verify() throws Exception {
        FakeGateway.Reply busy = FakeGateway.refusal(503, "gateway_busy", "retry_later");
        gateway.script("/attest/verify", busy, 2);
        settings.whenUnproved(Configuration.Unproved.FAIL);
        Expect.refused(() -> send(client()));
        clock.advance(2);
        Expect.refused(() -> send(client()));
        Expect.equal(reports(), Arrays.asList(
                "/attest/failure phase=verify;code=refused;os=14;try=1" + TAIL,
                "/attest/failure phase=verify;code=refused;os=14;try=2" + TAIL));
    }

    @Claim("a system that cannot attest says so once")
    void unsupported() throws Exception {
        keys.isSupported = false;
        gateway.observes = true;
        AttestClient client = client();
        for (int index = 0; index < 3; index++) {
            Expect.equal(send(client), 200);
        }
        Expect.equal(reports(), Arrays.asList(
                "/api/x phase=support;code=unsupported;os=14;try=1" + TAIL));
    }

    @Claim("nothing is told if the app does not want that")
    void silent() throws Exception {
        settings.reportsFailures(false);
        keys.failCreating(KeyException.Kind.TRANSIENT, "keyStore16");
        Expect.kind(() -> send(client()));
        clock.advance(1.1);
        Expect.equal(send(client()), 200);
        Expect.equal(reports().size(), 0);
        Expect.equal(gateway.count("/attest/failure"), 0);
    }

    @Claim("each kind of error has its code, and parts that are no words are left out")
    void codes() throws Exception {
        Object[][] codes = {
            {new java.net.SocketTimeoutException(), "timedOut"},
            {new java.io.InterruptedIOException("timeout"), "timedOut"},
            {new java.io.InterruptedIOException("interrupted"), null},
            {new IOException("Canceled"), null},
            {new java.net.UnknownHostException("x"), "unreachable"},
            {new java.net.ConnectException(), "unreachable"},
            {new java.net.NoRouteToHostException(), "unreachable"},
            {new javax.net.ssl.SSLHandshakeException("x"), "untrusted"},
            {new javax.net.ssl.SSLPeerUnverifiedException("x"), "untrusted"},
            {new SocketException(), "connectionLost"},
            {new java.io.EOFException(), "connectionLost"},
            {new IOException("x"), "other"},
            {new ClientException.UnexpectedAnswer(200), "unexpectedAnswer"},
            {new ClientException.State(new IOException()), "storage"},
            {new ClientException.Unsupported(), "unsupported"},
            {new ClientException.InvalidRequest("x"), null},
            {new ClientException.TryLater(1), null},
            {FakeKeyStore.failure(KeyException.Kind.UNKNOWN, "a code"), "other"},
        };
        for (Object[] pair : codes) {
            FailureReport report = FailureReport.of(
                    FailureReport.Phase.REQUEST, (IOException) pair[0], 100);
            Expect.equal(report == null ? null : report.code, pair[1]);
        }
        FailureReport report = FailureReport.of(
                FailureReport.Phase.REQUEST, new SocketException(), 100);
        Expect.equal(
                report.text(new AppInfo("a b", "", "Baklava")),
                "phase=request;code=connectionLost;try=99;platform=android");
    }
}
