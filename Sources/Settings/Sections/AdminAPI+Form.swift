import Bytes
import Crypto

extension AdminAPISettings {
    static var form: Form<AdminAPISettings> {
        Form(AdminAPISettings(bind: .unix(path: ""))) {
            Setting(
                "bind", \.bind, .bind, required: true,
                "Where to listen: only operators should reach it.")
            Setting(
                "token_file", \.tokenPath, .path, required: true,
                "A file with one token on each line: at least 32 letters, digits and -._~+/=, "
                    + "after a name and a colon, such as ops:TOKEN. The audit log shows the name, "
                    + "or else the beginning of the token's SHA-256. A token allows everything "
                    + "that the API can do. # begins a comment line."
            ) { field, api in
                api.tokens = field.secretFile(AdminTokens.parse) ?? []
            }
            Setting(
                "tls", optional: \.tls, ListenerTLSReader.kind.like("listeners[].tls"),
                "TLS, as on a listener. Without it, anyone on the way can read the tokens.")
        }
    }

    /// Reports an address at which tokens cross a network in clear text.
    static func check(_ section: inout Section, _ api: inout AdminAPISettings) {
        guard !section.isFaulty("bind"), api.tls == nil, !api.bind.isLocal else { return }
        section.field("bind")?.warning(
            "\(api.bind) takes tokens over plain HTTP from other machines, and anyone on the way "
                + "can read them and revoke every key: give it tls, or bind it to 127.0.0.1")
    }
}

/// The file of `admin.api.token_file`.
enum AdminTokens {
    /// 128 bits in hexadecimal, which are too many to be guessed.
    private static let byteCountMin = 32
    /// A longer line is no token but a mistake.
    private static let byteCountMax = 512
    /// A rotation needs two for each program.
    private static let countMax = 64

    static func parse(_ path: String, _ bytes: [UInt8]) throws(Fault) -> [AdminToken] {
        var tokens: [AdminToken] = []
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let line = trimmed(line)
            if line.isEmpty || line.first == UInt8(ascii: "#") { continue }
            let token = try token(line, lineNumber: index + 1)
            // Refused under another name too, because the log could not tell the two apart.
            guard !tokens.contains(where: { $0.digest == token.digest }) else {
                throw Fault("line \(index + 1): the same token again")
            }
            tokens.append(token)
        }
        guard !tokens.isEmpty else {
            throw Fault("holds no token: write one on a line (openssl rand -hex 32)")
        }
        guard tokens.count <= countMax else { throw Fault("holds more than \(countMax) tokens") }
        return tokens
    }

    /// Reads one line. Messages show no part of it, because it may be a token.
    private static func token(
        _ line: ArraySlice<UInt8>, lineNumber: Int
    ) throws(Fault) -> AdminToken {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        let secret = colon.map { line[($0 + 1)...] } ?? line
        // RFC 6750 section 2.1.
        guard secret.allSatisfy({ $0.isLetterOrDigit || $0.isOne(of: "-._~+/=") }) else {
            throw Fault(
                "line \(lineNumber): a token is of letters, digits and -._~+/=, and its name "
                    + "stands before a colon")
        }
        guard (byteCountMin...byteCountMax).contains(secret.count) else {
            throw Fault(
                "line \(lineNumber): a token of \(secret.count) characters: \(byteCountMin) to "
                    + "\(byteCountMax) are needed")
        }
        let digest = SHA256.hash(secret.span)
        guard let colon else {
            let prefix = Hex.encode(Array(digest.array.prefix(4)))
            return AdminToken(name: "token-\(prefix)", digest: digest)
        }
        let name = String(decoding: line[..<colon], as: UTF8.self)
        guard isName(name) else {
            throw Fault(
                "line \(lineNumber): the name before the colon is not 1 to 64 letters, digits, "
                    + "periods, hyphens and underscores")
        }
        return AdminToken(name: name, digest: digest)
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isLetterOrDigit || $0.isOne(of: ".-_") }
    }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var line = line.drop(while: isSpace)
        while let last = line.last, isSpace(last) { line = line.dropLast() }
        return line
    }
}
