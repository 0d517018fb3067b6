import Background
import Telemetry

extension MetricsPage {
    /// Writes the results of exports by OTLP. Nothing is written if none was ever configured.
    static func writeExports(_ hub: Hub, _ page: inout MetricFamilies) {
        let meter = hub.exports
        guard meter.isOn else { return }
        page.family(
            "sallyport_otlp_exports_total", .counter,
            help: "Requests to the OpenTelemetry collector, by their outcome.")
        for signal in ExportMeter.Signal.allCases {
            for outcome in ExportMeter.Outcome.allCases {
                page.sample(
                    [("signal", signal.rawValue), ("outcome", outcome.rawValue)],
                    meter.value(signal, outcome))
            }
        }
        page.family(
            "sallyport_otlp_dropped_total", .counter,
            help: "Spans that reached no collector, by reason.")
        for loss in ExportMeter.Loss.allCases {
            page.sample([("reason", loss.rawValue)], meter.value(loss))
        }
    }
}
