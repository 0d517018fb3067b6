import TLS
import Telemetry

extension MetricsPage {
    static func writeHandshakes(_ hub: Hub, _ page: inout MetricFamilies) {
        page.family(
            "sallyport_tls_handshakes_total", .counter,
            help: "TLS handshakes with clients that were completed, by the group of their keys.")
        var groups: [String: UInt64] = [:]
        for meter in hub.meters {
            for (group, count) in meter.handshakes.counts { groups[group, default: 0] &+= count }
        }
        for (group, count) in groups.sorted(by: { $0.key < $1.key }) {
            page.sample([("group", group)], count)
        }
        page.family(
            "sallyport_tls_resumptions_total", .counter,
            help: "Completed handshakes that a session ticket shortened.")
        page.sample([], hub.meters.reduce(0) { $0 &+ $1.value(.resumptions) })
        page.family(
            "sallyport_tls_handshake_failures_total", .counter,
            help: "TLS handshakes with clients that were not completed, by reason.")
        for kind in TLSFailure.Kind.allCases {
            let count = hub.meters.reduce(0) { $0 &+ $1.handshakeFailureCount(kind) }
            guard count > 0 else { continue }
            page.sample([("reason", kind.name.description)], count)
        }
        let count = hub.meters.reduce(0) { $0 &+ $1.handshakeTimeoutCount }
        if count > 0 { page.sample([("reason", "timeout")], count) }
    }

    static func writeCertificates(_ site: Site, _ page: inout MetricFamilies) {
        let certificates = ListenerCertificate.all(site)
        func family(_ name: String, help: String, _ time: (ListenerCertificate) -> Int64) {
            page.family(name, .gauge, help: help)
            for certificate in certificates {
                page.sample(
                    [("listener", certificate.listener), ("name", certificate.name)],
                    time(certificate))
            }
        }
        family(
            "sallyport_tls_certificate_not_before_timestamp_seconds",
            help: "The start of the validity of a listener's certificate, by its first DNS name."
        ) { $0.notBefore }
        family(
            "sallyport_tls_certificate_not_after_timestamp_seconds",
            help: "The end of the validity of a listener's certificate, by its first DNS name."
        ) { $0.notAfter }
    }
}
