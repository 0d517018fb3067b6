import EventLoop
import HTTPSClient
import OTLP
package import Settings

/// Sends a collector an empty export, for `doctor`.
package enum OTLPCheckup {
    /// The signals that `settings` export.
    package static func signals(of settings: OTLPSettings) -> [ExportMeter.Signal] {
        ExportMeter.Signal.allCases.filter { signal in
            switch signal {
            case .traces: settings.samplePercent != nil
            case .metrics: settings.metricsInterval > .zero
            }
        }
    }

    /// Blocks. Returns the reason why the collector does not accept exports of that signal; nil if
    /// it does.
    package static func failure(
        of signal: ExportMeter.Signal, at settings: OTLPSettings
    ) throws -> String? {
        let loop = try EventLoop()
        let target = try ExportTarget(settings, loop: loop)
        let empty =
            switch signal {
            case .traces: OTLPEnvelope.spans.empty
            case .metrics: OTLPEnvelope.metrics.empty
            }
        var failure: String?
        target.client.send(target.request(signal, body: empty)) { result in
            switch ExportResult(result) {
            case .accepted: failure = nil
            case .later(_, _, let reason), .refused(let reason): failure = reason
            }
            loop.stop()
        }
        loop.run()
        target.client.close()
        return failure
    }
}
