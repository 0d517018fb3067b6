import AppAttestTesting
import Bytes
import Foundation
import GatewayTesting
import Testing

/// What one request without a proof costs, whatever a stranger writes into it: the table in
/// `docs/proof/threat-model.md`.
@Suite("What one unproved request costs", .enabled(if: BuiltProgram.isBuilt))
struct UnprovedCostTests {}

extension UnprovedCostTests {
    /// A request that grows in one place.
    private struct Growing: CustomTestStringConvertible {
        let testDescription: String
        let sizes: [Int]
        /// Instructions, unoptimised, of each byte more. A tenth above what was measured: on a busy
        /// machine a body is read in more pieces.
        var perByteMax = 2950
        let make: (Int) -> [UInt8]
    }

    private static func head(
        _ path: String, _ name: String, perByteMax: Int = 2950,
        _ value: @escaping (Int) -> String
    ) -> Growing {
        Growing(
            testDescription: "\(path) \(name)", sizes: [7000, 28_000], perByteMax: perByteMax
        ) {
            Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\(name): \(value($0))\r\n\r\n".utf8)
        }
    }

    private static func body(
        _ path: String, _ name: String, fields: [(String, String)] = [], sizes: [Int],
        isChunked: Bool = false, _ value: @escaping (Int) -> String
    ) -> Growing {
        Growing(
            testDescription: "\(path) \(name)", sizes: sizes
        ) { size in
            let lines = fields.map { "\($0): \($1)\r\n" }.joined()
            let text = value(size)
            guard isChunked else {
                return Array(
                    """
                    POST \(path) HTTP/1.1\r\nHost: a\r\n\(lines)\
                    Content-Length: \(text.utf8.count)\r\n\r\n\(text)
                    """.utf8)
            }
            let chunks = text.map { "1\r\n\($0)\r\n" }.joined()
            return Array(
                """
                POST \(path) HTTP/1.1\r\nHost: a\r\n\(lines)\
                Transfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n
                """.utf8)
        }
    }

    /// A token of another issuer, as long as one may be, with these members in its header.
    private static func foreign(_ members: @escaping (Int) -> String) -> Growing {
        Growing(testDescription: "/foreign/x X-P", sizes: [1000, 5000]) { size in
            let header = "{\"alg\":\"RS256\"" + (size == 0 ? "" : ",\(members(size))") + "}"
            let token = IssuerKey.unsigned(header, "{}") + ".AA"
            return Array("GET /foreign/x HTTP/1.1\r\nHost: a\r\nX-P: \(token)\r\n\r\n".utf8)
        }
    }

    /// `part` with its number in it, again and again.
    private static func list(
        _ size: Int, by separator: String, _ part: (Int) -> String
    ) -> String {
        var parts: [String] = []
        var count = 0
        while count < size {
            parts.append(part(parts.count))
            count += parts[parts.count - 1].utf8.count + separator.utf8.count
        }
        return parts.joined(separator: separator)
    }

    private static var heads: [Growing] {
        [
            head("/api/x", "X-Any") { String(repeating: "x", count: $0) },
            head("/api/x", "Forwarded") { list($0, by: ";") { "p\($0)=x" } },
            head("/api/x", "Forwarded") { list($0, by: ",") { "for=10.0.0.\($0 % 256)" } },
            head("/api/x", "Forwarded") {
                "for=\"" + String(repeating: "\\a", count: $0 / 2) + "\""
            },
            head("/api/x", "X-Forwarded-For") { list($0, by: ",") { "10.0.0.\($0 % 256)" } },
            head("/api/x", "User-Agent") { String(repeating: "CFNetwor", count: $0 / 8) },
            head("/api/x", "Cookie") { list($0, by: ";") { "c\($0)=x" } },
            head("/api/x", "Connection") { list($0, by: ",") { "n\($0)" } },
            head("/api/x", "TE") { list($0, by: ",") { "t\($0)" } },
            head("/api/x", "X-App-Attest-Assertion") { String(repeating: "oWFh", count: $0 / 4) },
            head("/api/x", "X-App-Attest-Token") { list($0, by: ".") { "t\($0)" } },
            head("/api/x", "X-App-Attest-Failure") { list($0, by: ";") { "p\($0)=x" } },
            foreign { "\"a\":\"" + String(repeating: "x", count: $0) + "\"" },
            foreign { list($0, by: ",") { "\"m\($0)\":[]" } },
            head("/attest/challenge", "X-Any") { list($0, by: ",") { "v\($0)" } },
            head("/assert/challenge?key_id=AA", "Forwarded") { list($0, by: ";") { "p\($0)=x" } },
            head("/assert/challenge", "Accept", perByteMax: 200) {
                list($0, by: ",") { _ in "a" }
            },
            head("/assert/challenge", "Accept", perByteMax: 200) {
                "application/json" + String(repeating: ";a", count: $0 / 2)
            },
        ]
    }

    /// With an assertion that has its parts, so that the body is looked at.
    private static let assertion: [(String, String)] = {
        var object: [UInt8] = [0xA2, 0x69] + Array("signature".utf8) + [0x41, 0x00, 0x71]
        object += Array("authenticatorData".utf8) + [0x41, 0x00]
        return [("X-App-Attest-Assertion", Base64.encode(object))]
    }()

    /// Instructions, unoptimised, of a request that says nothing.
    private static let emptyMax = 3_000_000

    private static let small = [15_000, 60_000]
    private static let large = [40_000, 160_000]

    private static var bodies: [Growing] {
        [
            body("/attest/verify", "long string", sizes: small) {
                "{\"attestation\":\"" + String(repeating: "oWFh", count: $0 / 4) + "\"}"
            },
            body("/attest/verify", "members", sizes: small) { size in
                "{" + list(size, by: ",") { "\"m\($0)\":1" } + "}"
            },
            body("/attest/verify", "escapes", sizes: small) {
                "{\"a\":\"" + String(repeating: "\\u00e9", count: $0 / 6) + "\"}"
            },
            body("/assert/token", "members", fields: assertion, sizes: small) { size in
                "{" + list(size, by: ",") { "\"m\($0)\":1" } + "}"
            },
            body("/body/x", "members", fields: assertion, sizes: large) { size in
                "{" + list(size, by: ",") { "\"m\($0)\":{\"a\":[1]}" } + "}"
            },
            body("/body/x", "strings", fields: assertion, sizes: large) { size in
                "{" + list(size, by: ",") { "\"m\($0)\":\"\($0)\\u00e9\"" } + "}"
            },
            body("/unasked/x", "strings", fields: assertion, sizes: large) { size in
                "{"
                    + list(size, by: ",") {
                        "\"m\($0)\":\"" + String(repeating: "A", count: 72) + "\""
                    }
                    + "}"
            },
            body("/body/x", "nesting", fields: assertion, sizes: large) {
                String(repeating: "[", count: $0)
            },
            body("/body/x", "chunks", fields: assertion, sizes: [2000, 8000], isChunked: true) {
                String(repeating: " ", count: $0)
            },
        ]
    }

    private static func configuration(_ upstream: RecordingUpstream) -> GatewayConfiguration {
        var configuration = GatewayConfiguration.enforcing(upstreamPort: upstream.port)
        configuration.routes += [
            .init("body", path: "/body/*", attest: "mode: enforce, client_data: body"),
            .init(
                "unasked", path: "/unasked/*",
                attest:
                    "mode: enforce, client_data: body, challenge: off, replay: durable"),
        ]
        configuration.routes.append(
            .init("foreign", path: "/foreign/*", attest: "mode: enforce, accept: ['proof:p']"))
        configuration.routes.append(
            .init("tokens", path: "/tokens/*", attest: "mode: enforce, accept: [assertion, token]"))
        // Only a trusted peer's word about the client is read at all.
        configuration.listenerMore = [
            "trusted_proxies: [127.0.0.0/8, 10.0.0.0/8]", "rate_limit: all",
        ]
        configuration.more = [
            "rate_limits: { all: { by: address, rate: 1000000/s, burst: 1000000 } }",
            """
            proofs:
              p: { issuer: i, audience: [a], header: X-P, jwks: "http://127.0.0.1:1/" }
            """,
        ]
        return configuration
    }

    @Test(
        "grows with its length and no faster, wherever that grows",
        .enabled(if: CountedGateway.isInstalled))
    func instructions() throws {
        let upstream = try RecordingUpstream()
        let counted = try CountedGateway(Self.configuration(upstream))
        /// The least of two tries, or the first if it is within `bound`.
        func cost(_ growing: Growing, _ size: Int, within bound: Int = 0) throws -> Int {
            let bytes = growing.make(size)
            return try CountedGateway.least(of: 2, above: bound) {
                try counted.instructions {
                    let client = try counted.gateway.connect()
                    try client.send(bytes)
                    _ = try client.receive()
                }
            }
        }
        for growing in Self.heads + Self.bodies {
            let empty = try cost(growing, 0)
            #expect(empty <= Self.emptyMax, "\(growing.testDescription)")
            for size in growing.sizes {
                let byteCount = growing.make(size).count - growing.make(0).count
                let bound = empty + growing.perByteMax * byteCount
                let perByte = (try cost(growing, size, within: bound) - empty) / byteCount
                print(
                    "\(growing.testDescription): \(empty), and \(perByte) for each of \(byteCount)")
                #expect(
                    perByte <= growing.perByteMax,
                    "\(growing.testDescription): \(perByte) for each of \(byteCount) bytes")
            }
        }
        #expect(upstream.requests.allSatisfy { $0.target == "/" })
    }

    @Test("is no memory for a body that is its client data, however long")
    func memory() throws {
        let upstream = try RecordingUpstream()
        var configuration = Self.configuration(upstream)
        configuration.more.append("limits: { body: 16MiB }")
        let gateway = try GatewayProcess(configuration)
        let text = "{" + Self.list(15_000_000, by: ",") { "\"m\($0)\":[1,{\"a\":\"b\"}]" } + "}"
        for path in ["/body/x", "/unasked/x"] {
            _ = try gateway.exchange("POST", path, fields: Self.assertion, body: Array("{}".utf8))
            let before = try gateway.peakByteCount()
            let answer = try gateway.exchange(
                "POST", path, fields: Self.assertion, body: Array(text.utf8))
            #expect(answer.status == 401)
            #expect(try gateway.peakByteCount() - before < 4 * 1024 * 1024)
        }
        #expect(upstream.requests.isEmpty)
    }
}
