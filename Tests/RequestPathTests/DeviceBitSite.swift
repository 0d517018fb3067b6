import AppAttestTesting
import Attestation
import GatewayTesting
import Testing

/// Gateways that ask a stand-in for Apple about the bits `trial_used` and `banned`.
struct DeviceBitSite {
    static let tokenName = "X-Device-Check-Token"
    private static let secret = "0123456789abcdef-secret"
    let upstream: RecordingUpstream
    let apple: AppleServer
    let directory: ScratchDirectory

    init() throws {
        upstream = try RecordingUpstream()
        apple = try AppleServer()
        directory = try ScratchDirectory()
    }

    /// `rule`: the inside of `keys_per_device_bit`.
    func configuration(_ rule: String, deviceCheck: String = "") throws -> GatewayConfiguration {
        let path = try directory.write(Self.secret + "\n", to: "secret")
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.more = [
            try apple.settings,
            "device_check: { bits: { bit0: trial_used, bit1: banned },"
                + " admin_secret_file: \(path)\(deviceCheck) }",
            "signals: { keys_per_device_bit: { \(rule) } }",
        ]
        return configuration
    }

    func token(_ device: String) throws -> String {
        try #require(try apple.deviceTokens(device: device).first)
    }

    /// What the operator's own service sends. `more`: further members of the body.
    func post(
        _ action: String, _ more: String = "", of device: String = "phone", key: String? = nil,
        at gateway: GatewayProcess
    ) throws -> HTTPMessage {
        let named = key.map { ",\"key_id\":\"\($0)\"" } ?? ""
        return try RawClient(port: gateway.adminPort).exchange(
            "POST", "/device-check/" + action,
            fields: [("Authorization", "Bearer " + Self.secret)],
            body: Array("{\"device_token\":\"\(try token(device))\"\(named)\(more)}".utf8))
    }
}
