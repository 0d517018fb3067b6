package dev.sallyport.client;

import java.io.IOException;

/**
 * Reports each failure once: with the next request, or by a request of its own if none follows
 * soon. No request is repeated for a report.
 */
final class FailureReports {
    /** A request with the failure that was not reported yet, and that failure. */
    static final class Carrier {
        final Request request;
        /** Null if there is none. */
        final FailureReport report;

        Carrier(Request request, FailureReport report) {
            this.request = request;
            this.report = report;
        }
    }

    private final boolean isOn;
    private final AppInfo app;
    /** The failure that was not reported yet. */
    private FailureReport failure;

    FailureReports(boolean isOn, AppInfo app) {
        this.isOn = isOn;
        this.app = app;
    }

    synchronized void note(FailureReport.Phase phase, IOException error, int attempt) {
        FailureReport report = isOn ? FailureReport.of(phase, error, attempt) : null;
        // A later failure of the network must not hide one of the phone.
        if (report != null && (failure == null || !failure.isOfDevice() || report.isOfDevice())) {
            failure = report;
        }
    }

    /** Only one of several requests under way carries the report. */
    synchronized Carrier carrying(Request request) {
        FailureReport report = failure;
        failure = null;
        return new Carrier(
                report == null ? request : request.withHeader(HeaderName.FAILURE, report.text(app)),
                report);
    }

    /** Keeps a report for later, because no answer has shown that the gateway got it. */
    synchronized void keep(FailureReport report) {
        if (failure == null) {
            failure = report;
        }
    }

    /** True if a failure is worth a request of its own. */
    synchronized boolean isUrgent() {
        return failure != null
                && (failure.isOfDevice() || failure.phase == FailureReport.Phase.VERIFY);
    }
}
