import Background
import Bytes
import Crypto
import EventLoop
import KeyStore
import OTLP
import Settings

/// The control thread's work for operators who watch the gateway from elsewhere.
struct Observation {
    /// Counts the keys of the registry; blocks. Nil if keys are not counted.
    let countKeys: (@Sendable () -> [KeyCount]?)?
    fileprivate var keyCountRefresher: KeyCountRefresher?
    fileprivate(set) var exporter: OTLPExporter?

    init(countKeys: (@Sendable () -> [KeyCount]?)?) { self.countKeys = countKeys }

    mutating func end() {
        keyCountRefresher = nil
        exporter?.close()
        exporter = nil
    }
}

extension Gateway {
    func startObservation(on loop: EventLoop) throws {
        observation.keyCountRefresher = observation.countKeys.map {
            KeyCountRefresher(loop: loop, hub: hub, count: $0)
        }
        let exporter = OTLPExporter(
            loop: loop, queue: hub.spans, meter: hub.exports, log: hub.logs, origin
        ) { [hub, unowned self] in MetricsPage.families(hub, site: currentSite) }
        exporter.use(try exporter.change(to: currentSite.settings.otlp))
        observation.exporter = exporter
    }

    /// Sends the spans of the last requests and the last counts before the process ends.
    func finishExports(_ whenOver: @escaping () -> Void) {
        guard let exporter = observation.exporter else { return whenOver() }
        exporter.finish(whenOver)
    }

    /// This process, in the words of OpenTelemetry's semantic conventions.
    private var origin: OTLPExporter.Origin {
        let attributes = [
            ("service.name", "sallyport"), ("service.version", hub.version),
            ("service.instance.id", Self.uuid(RandomBytes.bytes(16))),
            ("host.name", HostSystem.hostName), ("process.pid", "\(HostSystem.processID)"),
        ]
        let now = WallClock.now()
        return OTLPExporter.Origin(
            resource: OTLPResource(attributes.map { (key: $0.0, value: $0.1) }),
            version: hub.version,
            startedAt: UInt64(max(0, now.seconds)) * 1_000_000_000 + UInt64(now.nanoseconds))
    }

    /// A random UUID (RFC 9562 section 5.4).
    private static func uuid(_ random: [UInt8]) -> String {
        var bytes = random
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array(Hex.encode(bytes).utf8)
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
            .map { String(decoding: digits[$0], as: UTF8.self) }.joined(separator: "-")
    }
}
