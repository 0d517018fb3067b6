import Telemetry

/// Failures in a stable order.
enum FailureList {
    static func sorted(_ counts: [FailureCause: UInt64]) -> [(name: FailureCause, count: UInt64)] {
        counts.map { ($0.key, $0.value) }.sorted { $0.name.order < $1.name.order }
    }

    static func sorted(
        _ counts: [FailureVersion: UInt64]
    ) -> [(name: FailureVersion, count: UInt64)] {
        counts.map { ($0.key, $0.value) }.sorted { $0.name.order < $1.name.order }
    }
}

extension FailureCause {
    fileprivate var order: (String, String, String) { (phase.rawValue, code.rawValue, system) }
}

extension FailureVersion {
    fileprivate var order: (String, String, String) { (app, version, code.rawValue) }
}
