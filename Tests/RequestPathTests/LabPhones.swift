import GatewayTesting
import Testing

/// Phones of `sallyport-lab`, and its stand-in for Google.
struct LabPhones {
    static let package = "com.example.bank"
    private static let digest = String(repeating: "ab", count: 32)

    private let directory: ScratchDirectory
    /// The file of the stand-in for Google.
    let google: String
    private let root: String

    init() throws {
        directory = try ScratchDirectory()
        google = directory.path(of: "google.json")
        root = directory.path(of: "google.pem")
        let made = try run(
            ["root", "--platform", "android", "--state", google, "--pem", root])
        try #require(made.status == .exited(0), "\(made.standardError)")
    }

    /// Has a gateway take keys of the phones' app. `demands`: more of the app's settings.
    func letIn(to configuration: inout GatewayConfiguration, _ demands: String = "") {
        configuration.apps.append(
            "{ android: \(Self.package), signing_digests: [\(Self.digest)], \(demands) }")
        configuration.androidRootPaths = [root]
    }

    func run(_ words: [String]) throws -> ChildProcess.Outcome {
        try ChildProcess.run(BuiltProgram.lab, words)
    }

    /// A new phone's file.
    func phone(_ name: String, _ more: [String] = []) throws -> String {
        let path = directory.path(of: name)
        let words = ["device", "new", "--platform", "android", "--state", path]
        let outcome = try run(
            words + ["--app", Self.package, "--signing-digest", Self.digest] + more)
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return path
    }

    func attest(
        _ path: String, at gateway: GatewayProcess, _ more: [String] = []
    ) throws -> ChildProcess.Outcome {
        let address = "127.0.0.1:\(gateway.port)"
        return try run(
            ["device", "attest", "--state", path, "--google", google, "--gateway", address]
                + more)
    }

    /// The answer to a request that the phone signs.
    func request(
        _ path: String, at gateway: GatewayProcess, _ more: [String] = [],
        target: String = "/api/x"
    ) throws -> String {
        let address = "127.0.0.1:\(gateway.port)"
        return try run(
            ["device", "request", "--state", path, "--gateway", address] + more
                + ["POST", target]
        ).standardOutput
    }
}
