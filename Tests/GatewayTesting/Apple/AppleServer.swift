import AppAttest
public import AppAttestTesting
public import Attestation
import Bytes
import Foundation
public import JSON

/// `sallyport-lab apple`: a stand-in for Apple's services, with the roots of ``TestApple``, in a
/// process and a directory of its own.
public final class AppleServer: Sendable {
    public static let teamID = "ABCDE12345"
    /// The key that signs in unless others are asked for.
    public static let keyID = "ABC123DEFG"

    public let productionPort: UInt16
    public let developmentPort: UInt16
    private let controlPort: UInt16
    private let directory: ScratchDirectory
    private let process: ChildProcess

    /// `keys`: ids of the team's keys that may sign in. `options`: further words of the command.
    public convenience init(
        keys: [String] = [keyID], teamID: String = teamID, options: [String] = []
    ) throws {
        try self.init(pairs: keys.map { "\(teamID):\($0)" }, options: options)
    }

    /// `pairs`: teams and ids of their keys, `TEAM:KEY`.
    public init(pairs: [String], options: [String] = []) throws {
        directory = try ScratchDirectory()
        var writer = JSONWriter()
        writer.element(try TestApple.shared.state())
        let state = writer.finish()
        try directory.write(state.readable.array, to: "apple.json")
        process = try ChildProcess(
            BuiltProgram.lab,
            ["apple", "--directory", directory.path]
                + ["--keys", pairs.joined(separator: ",")] + options)
        let line = try process.waitForLine(on: .standardOutput) { !$0.isEmpty }
        let bytes = Array(line.utf8)
        let ports = try JSONValue.parse(bytes.span, byteCountMax: 1024)
        func port(_ name: String) throws -> UInt16 {
            guard let port = ports[name]?.integerValue.flatMap({ UInt16(exactly: $0) }) else {
                throw RawSocketError("the stand-in has no port \(name): \(line)")
            }
            return port
        }
        productionPort = try port("production")
        developmentPort = try port("development")
        controlPort = try port("control")
    }

    // MARK: its files

    public var path: String { directory.path }
    /// Who vouches for its TLS.
    public var tlsAuthorityPath: String { directory.path(of: "tls-ca.pem") }
    /// For `trust.extra_roots`, beside ``TestApple/rootPath``.
    public var receiptRootPath: String { directory.path(of: "receipt-root.pem") }
    public func keyPath(_ keyID: String = keyID) -> String {
        directory.path(of: "AuthKey_\(keyID).p8")
    }

    /// The section `apple` of a configuration that asks this stand-in, for
    /// ``GatewayConfiguration/more``.
    public var settings: String {
        get throws {
            try String(contentsOfFile: directory.path(of: "apple.yaml"), encoding: .utf8)
        }
    }

    // MARK: orders

    /// See `sallyport-lab apple --help`.
    @discardableResult
    public func order(
        _ method: String, _ path: String, _ members: [String: JSONValue] = [:]
    ) throws -> JSONValue {
        var body: [UInt8] = []
        if method == "POST" {
            var writer = JSONWriter()
            writer.element(.object(members))
            let buffer = writer.finish()
            body = buffer.readable.array
        }
        let answer = try RawClient(port: controlPort).exchange(method, path, body: body)
        guard answer.status == 200 else {
            throw RawSocketError("\(method) \(path): \(answer.status) \(answer.bodyText)")
        }
        let bytes = answer.body
        return try JSONValue.parse(bytes.span, byteCountMax: 16 * 1024 * 1024)
    }

    /// The next `count` requests of that service (of any) are answered so; 0 for all to come.
    public func fail(
        _ service: StandInService? = nil, status: Int? = nil, body: String = "",
        retryAfter: String? = nil, conduct: StandInReply.Conduct = .whole, count: Int = 1,
        delayMilliseconds: Int = 0
    ) throws {
        var members: [String: JSONValue] = [
            "count": .integer(Int64(count)), "conduct": .string(conduct.rawValue),
            "body": .string(body), "delay_ms": .integer(Int64(delayMilliseconds)),
        ]
        members["service"] = service.map { .string($0.rawValue) }
        members["status"] = status.map { .integer(Int64($0)) }
        members["retry_after"] = retryAfter.map { .string($0) }
        try order("POST", "/faults", members)
    }

    public func clearFaults() throws { try order("DELETE", "/faults") }

    public func revoke(_ keyID: String, isRevoked: Bool = true) throws {
        try order("POST", "/keys", ["key_id": .string(keyID), "revoked": .bool(isRevoked)])
    }

    /// What came so far, oldest first: `service environment path key status`.
    public var requests: [String] {
        get throws {
            let records = try order("GET", "/requests")["requests"]?.arrayValue ?? []
            return records.map { record in
                let status = record["status"]?.integerValue ?? 0
                let words = ["service", "environment", "path", "key_id"].map {
                    record[$0]?.stringValue ?? "-"
                }
                return (words + ["\(status)"]).joined(separator: " ")
            }
        }
    }

    public func deviceTokens(
        device: String, count: Int = 1, teamID: String = teamID,
        environment: AttestEnvironment = .production
    ) throws -> [String] {
        let answer = try order(
            "POST", "/device-tokens",
            [
                "device": .string(device), "team": .string(teamID), "count": .integer(Int64(count)),
                "environment": .string(environment.rawValue),
            ])
        return answer["tokens"]?.arrayValue?.compactMap(\.stringValue) ?? []
    }

    /// Nil where they were never set.
    public func bits(device: String, teamID: String = teamID) throws -> (Bool, Bool)? {
        let answer = try order(
            "POST", "/bits", ["device": .string(device), "team": .string(teamID)])
        guard let bit0 = answer["bit0"]?.boolValue, let bit1 = answer["bit1"]?.boolValue else {
            return nil
        }
        return (bit0, bit1)
    }

    /// Says how many keys the key's device is said to have.
    public func setRisk(_ metric: UInt32, of keyID: KeyID) throws {
        try order(
            "POST", "/attested-keys",
            ["key_id": .string(keyID.base64), "risk": .integer(Int64(metric))])
    }

    /// Puts a key on a device, whose risk metric counts it.
    public func place(_ keyID: KeyID, on device: String) throws {
        try order(
            "POST", "/attested-keys",
            ["key_id": .string(keyID.base64), "device": .string(device)])
    }

    public func forget(_ keyID: KeyID) throws {
        try order(
            "POST", "/attested-keys",
            ["key_id": .string(keyID.base64), "forgotten": .bool(true)])
    }

    /// Its clock, from now on.
    public func setClock(offset: Int64) throws {
        try order("POST", "/clock", ["offset": .integer(offset)])
    }
}
