import Foundation
import GatewayTesting
import JSON
import Testing

/// A gateway that trusts a stand-in of `sallyport-lab`, and a device of the lab's in a file.
struct LabDesk {
    enum Platform: String, CaseIterable, Sendable {
        case apple
        case android
    }

    private static let digest = String(repeating: "ab", count: 32)

    let directory: ScratchDirectory
    let upstream: RecordingUpstream
    let gateway: GatewayProcess
    let platform: Platform

    /// The device's file.
    var state: String { directory.path(of: "device.json") }
    var url: String { "\(certificate == nil ? "http" : "https")://127.0.0.1:\(gateway.port)" }
    /// The gateway's certificate for 127.0.0.1, which is its own authority; nil without TLS.
    let certificate: TestCertificate?

    /// `headers`: the setting of that name; nil for the usual names.
    init(
        _ platform: Platform = .apple, isSecure: Bool = false, headers: String? = nil
    ) throws {
        self.platform = platform
        directory = try ScratchDirectory()
        certificate =
            isSecure
            ? try TestCertificate(in: directory, "gateway", names: ["127.0.0.1"]) : nil
        upstream = try RecordingUpstream()
        let root = directory.path(of: "root.pem")
        let made = try ChildProcess.run(
            BuiltProgram.lab,
            [
                "root", "--platform", platform.rawValue, "--state",
                directory.path(of: "authority.json"), "--pem", root,
            ])
        try #require(made.status == .exited(0), "\(made.standardError)")
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port, attest: "mode: enforce, accept: [assertion, token]")
        configuration.more = ["session_tokens: { ttl: 5m }"]
        if let headers { configuration.more.append("headers: { \(headers) }") }
        configuration.listenerMore = ["problem_detail: true"]
        if let certificate {
            configuration.listenerMore.append(
                "tls: { certificate: \(certificate.certificatePath), key: \(certificate.keyPath) }")
        }
        switch platform {
        case .apple: configuration.extraRootPaths = [root]
        case .android:
            configuration.apps = [
                "{ android: \(GatewayConfiguration.package), signing_digests: [\(Self.digest)] }"
            ]
            configuration.androidRootPaths = [root]
        }
        gateway = try GatewayProcess(configuration, directory: directory)
    }

    /// `sallyport-lab` in the device's directory.
    func lab(_ words: [String]) throws -> ChildProcess.Outcome {
        try ChildProcess.run(BuiltProgram.lab, words, workingDirectory: directory.path)
    }

    /// `sallyport-lab device`, with the file that it takes by default.
    func device(_ words: String...) throws -> ChildProcess.Outcome { try lab(["device"] + words) }

    /// The words of the first `enrol`.
    var enrolment: [String] {
        let app =
            switch platform {
            case .apple: ["--apple", "authority.json", "--app", GatewayConfiguration.appID]
            case .android:
                [
                    "--platform", "android", "--google", "authority.json",
                    "--app", GatewayConfiguration.package, "--signing-digest", Self.digest,
                ]
            }
        return ["device", "enrol", "--gateway", url] + app
    }

    /// Enrols the device, and returns the gateway's answer.
    @discardableResult
    func enrol() throws -> JSONValue {
        let outcome = try lab(enrolment)
        try #require(outcome.status == .exited(0), "\(outcome.standardError)")
        return try JSONValue.parse(outcome.standardOutput)
    }

    /// Sends a request, and returns true if the upstream has served it.
    func isServed() throws -> Bool {
        try device("request", "GET", "/api/x").standardOutput.hasPrefix("HTTP/1.1 200")
    }

    /// The device's file.
    func file() throws -> JSONValue {
        try JSONValue.parse(String(contentsOfFile: state, encoding: .utf8))
    }

    /// The number of assertions that the file says were made.
    func counter() throws -> Int64? { try file()["device"]?["counter"]?.integerValue }
}
