import Bytes
import Foundation
import GatewayTesting
import JSON

/// A real gateway whose route takes tokens of an issuer, whose keys it fetches from a server of the
/// test's own.
final class ForeignProofSite {
    static let issuer = "https://issuer.example"
    static let header = "X-Issuer-Token"

    let directory: ScratchDirectory
    let upstream: RecordingUpstream
    let issuer: RecordingUpstream
    private(set) var gateway: GatewayProcess

    /// `answer`: what the issuer's server says at first. `proof`: further keys of the proof.
    /// `url`: where the keys are, in place of the issuer's server itself.
    init(
        _ answer: UpstreamAnswer, accept: String = "[assertion, proof:issuer]", attest: String = "",
        proof: String = "",
        url: (RecordingUpstream, ScratchDirectory) throws -> String? = {
            _, _ in nil
        }, binds: [String] = [], listener: [String] = [], more: [String] = [],
        probes: String? = nil,
        awaitsKeys: Bool = true
    ) throws {
        directory = try ScratchDirectory()
        upstream = try RecordingUpstream()
        issuer = try RecordingUpstream { _ in answer }
        let url = try url(issuer, directory) ?? "http://127.0.0.1:\(issuer.port)/jwks"
        var configuration = GatewayConfiguration.enforcing(
            upstreamPort: upstream.port,
            attest: "mode: enforce, accept: \(accept)\(attest.isEmpty ? "" : ", \(attest)")")
        configuration.more =
            [
                "proofs: { issuer: { issuer: \"\(Self.issuer)\", audience: [api], "
                    + "algorithms: [RS256, ES256], jwks: \"\(url)\", header: \(Self.header)"
                    + "\(proof.isEmpty ? "" : ", \(proof)") } }"
            ] + more
        configuration.listenerMore = listener
        configuration.binds = binds
        configuration.probes = probes
        gateway = try GatewayProcess(configuration)
        if awaitsKeys { try awaitKeys(1) }
    }

    static func claims(_ more: String = "", life: Int = 600) -> String {
        let now = Int(Date().timeIntervalSince1970)
        return #"{"iss":"\#(issuer)","aud":["api"],"iat":\#(now),"exp":\#(now + life)\#(more)}"#
    }

    static func keys(_ keys: String...) -> UpstreamAnswer {
        .response(
            fields: [("Content-Type", "application/json")], body: IssuerKey.document(keys))
    }

    /// Waits until so many keys were fetched; no event tells.
    func awaitKeys(_ count: Int) throws {
        try waitForMetric(#"sallyport_jwks_keys{proof="issuer"}"#) { $0 == Double(count) }
    }

    func waitForMetric(_ sample: String, _ isTrue: (Double) -> Bool) throws {
        let limit = ChildProcess.deadline
        while Date() < limit {
            if let value = try gateway.metric(sample), isTrue(value) { return }
            _ = Foundation.poll(nil, 0, 20)
        }
        throw RawSocketError("\(sample) is \(String(describing: try gateway.metric(sample)))")
    }

    func send(
        _ token: String?, _ target: String = "/api/x", fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        try gateway.exchange(
            "GET", target, fields: (token.map { [(Self.header, $0)] } ?? []) + fields)
    }

    /// SIGHUP, with the configuration as it is.
    func reload() throws {
        let text = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        _ = try gateway.reload(text: text)
    }

    func status() throws -> JSONValue {
        let answer = try gateway.admin("/status.json")
        return try JSONValue.parse(answer.bodyText)
    }
}
