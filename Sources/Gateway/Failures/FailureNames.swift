import Policy
import Settings
import Telemetry

/// A failure, and the system on which it happened: the labels of one metric.
struct FailureCause: Hashable, Sendable {
    let phase: FailureReport.Activity
    let code: FailureReport.Code
    /// A version of a system, `unknown` or `other`.
    let system: String

    init(_ report: FailureReport) {
        (phase, code) = (report.phase, report.code)
        system =
            switch report.system {
            case .value(let system): system.description
            case .missing where report.phase == .invalid: FailureLabel.other
            case .missing: FailureLabel.unknown
            case .malformed: FailureLabel.other
            }
    }

    private init(_ phase: FailureReport.Activity, _ code: FailureReport.Code) {
        (self.phase, self.code) = (phase, code)
        system = FailureLabel.other
    }

    /// The name under which it is counted if its system has no place.
    var summary: FailureCause { FailureCause(phase, code) }
}

/// A failure, and the app and version in which it happened: the labels of the other metric.
struct FailureVersion: Hashable, Sendable {
    /// A configured app, `unknown` or `other`.
    let app: String
    /// A version, `unknown` or `other`.
    let version: String
    let code: FailureReport.Code

    init(_ report: FailureReport, apps: [String]) {
        code = report.code
        switch report.app {
        case .value(let name): app = Self.app(name, of: apps) ?? FailureLabel.other
        case .missing: app = FailureLabel.unknown
        case .malformed: app = FailureLabel.other
        }
        switch report.version {
        // A version that cannot be compared is no CFBundleVersion.
        case .value(let text) where text.utf8.count <= Self.versionByteCountMax:
            version = BundleVersion(text)?.text ?? FailureLabel.other
        case .missing: version = FailureLabel.unknown
        case .value, .malformed: version = FailureLabel.other
        }
    }

    private init(app: String, code: FailureReport.Code) {
        (self.app, self.code) = (app, code)
        version = FailureLabel.other
    }

    /// The name under which it is counted if its version has no place.
    var summary: FailureVersion { FailureVersion(app: app, code: code) }

    /// The configured app with that name: its App ID, or the bundle identifier in the App ID,
    /// because an app does not know its team.
    private static func app(_ name: String, of apps: [String]) -> String? {
        if apps.contains(name) { return name }
        let found = apps.filter { id in
            id.split(separator: ".", maxSplits: 1).last.map { $0 == name } ?? false
        }
        return found.count == 1 ? found[0] : nil
    }

    /// The longest version. Apple allows 18 characters.
    private static let versionByteCountMax = 32
}

/// The labels that replace names.
enum FailureLabel {
    static let unknown = "unknown"
    static let other = "other"
}
