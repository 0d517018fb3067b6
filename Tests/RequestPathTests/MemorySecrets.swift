import Bytes
import Crypto
import Foundation
import GatewayTesting

/// Secrets that a test makes for a gateway, in files, and the forms in which they might stand in
/// its memory.
struct MemorySecrets {
    /// A form of a secret: what it is, and its bytes.
    struct Form: CustomStringConvertible {
        let name: String
        let bytes: [UInt8]

        var description: String { name }
    }

    /// What is of use until the next reload, as the libraries hold it.
    private(set) var held: [Form] = []
    /// Texts of files and what they were decoded to: of no use once something was made of them.
    private(set) var passing: [Form] = []
    let adminToken: String
    private let directory: ScratchDirectory
    private var certificate: TestCertificate

    init(in directory: ScratchDirectory) throws {
        self.directory = directory
        certificate = try TestCertificate(in: directory, "server")
        adminToken = Hex.encode(RandomBytes.bytes(24))
        passing.append(Form(name: "the admin token", bytes: Array(adminToken.utf8)))
        try write("ops:\(adminToken)\n", "tokens")
        try addPrivateKey("the TLS key", certificate.keyPEM)
        for (name, file) in [("Apple's key", "apple.p8"), ("the identity key", "identity.pem")] {
            let pem = try P256PrivateKey.generate().pem()
            try write(String(decoding: pem, as: UTF8.self), file)
            try addPrivateKey(name, pem)
        }
        for (name, file) in [
            ("the challenge key", "challenge"), ("the pseudonym key", "pseudonym"),
        ] {
            let key = RandomBytes.bytes(32)
            let text = Base64.encode(key)
            try write(text + "\n", file)
            passing.append(Form(name: "\(name), the file's text", bytes: Array(text.utf8)))
            passing.append(Form(name: name, bytes: key))
        }
        let ticketKey = RandomBytes.bytes(80)
        try directory.write(ticketKey, to: "tickets")
        chmod(directory.path(of: "tickets"), 0o600)
        held.append(Form(name: "the ticket key", bytes: ticketKey))
    }

    private func write(_ text: String, _ name: String) throws {
        try directory.write(text, to: name)
        chmod(directory.path(of: name), 0o600)
    }

    private mutating func addPrivateKey(_ name: String, _ pem: [UInt8]) throws {
        let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n")
        let der = Base64.decode(lines[1..<(lines.count - 1)].joined()) ?? []
        // ECPrivateKey (RFC 5915): version 1, then the number in 32 bytes.
        let start: [UInt8] = [0x02, 0x01, 0x01, 0x04, 0x20]
        guard let place = der.indices.first(where: { der[$0...].starts(with: start) }) else {
            throw FaultSiteError("\(name) is not as expected")
        }
        let number = Array(der[(place + 5)..<(place + 37)])
        // OpenSSL holds numbers with their last digits first.
        held.append(Form(name: name, bytes: number.reversed()))
        passing.append(Form(name: "\(name) in DER", bytes: number))
        // The number begins in the first line of the text, and ends in the second.
        passing.append(Form(name: "\(name) in PEM", bytes: Array(lines[1].utf8.suffix(16))))
    }

    /// Adds all of them to a configuration.
    func add(to configuration: inout GatewayConfiguration, apiPort: UInt16) {
        let path = directory.path(of:)
        configuration.listenerMore = [
            "tls:",
            "  certificate: \(certificate.certificatePath)",
            "  key: \(certificate.keyPath)",
            "  session_tickets: { keys: [\(path("tickets"))] }",
        ]
        configuration.api = "bind: \"127.0.0.1:\(apiPort)\", token_file: \(path("tokens"))"
        configuration.more += [
            "secrets:",
            "  challenge_key_file: \(path("challenge"))",
            "  pseudonym_key_file: \(path("pseudonym"))",
            "apple:",
            "  keys: [{ key_id: ABCDEFGHIJ, file: \(path("apple.p8")) }]",
            "identity: { keys: [\(path("identity.pem"))] }",
        ]
    }

    /// Handshakes, and requests that have something sealed, signed and looked up.
    func use(_ gateway: GatewayProcess, apiPort: UInt16) throws {
        for _ in 0..<2 {
            let client = try TLSClient(port: gateway.port, trusting: certificate, name: "localhost")
            try client.send("GET /assert/challenge HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try client.receive(until: "\r\n\r\n")
        }
        let answer = try RawClient(port: apiPort).exchange(
            "GET", "/audit", fields: [("Authorization", "Bearer \(adminToken)")])
        guard answer.status == 200 else { throw FaultSiteError("the API: \(answer.startLine)") }
    }
}
