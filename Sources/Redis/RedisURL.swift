import Bytes

/// Why a text is no Redis URL. Never repeats the text, which may hold a password.
public enum RedisURLError: Error, Hashable, Sendable, CustomStringConvertible {
    case unknownScheme
    /// `rediss://`.
    case tlsNotSupported
    case badPercentEncoding
    case missingHost
    case badHost
    case badPort
    case badDatabase
    case missingPath
    /// A unix socket's path that is longer than the system takes.
    case pathTooLong
    case unknownParameter
    case unexpectedFragment

    public var description: String {
        switch self {
        case .unknownScheme: "a Redis URL begins with redis:// or unix://"
        case .tlsNotSupported: "rediss:// (TLS) is not supported yet; use redis:// or unix://"
        case .badPercentEncoding: "a % is not followed by two hexadecimal digits, or hides a NUL"
        case .missingHost: "the host is missing"
        case .badHost: "the host is not a name or an address"
        case .badPort: "the port is not a number from 1 to 65535"
        case .badDatabase: "the database is not a number from 0 to 65535"
        case .missingPath: "the path of the socket is missing or not absolute"
        case .pathTooLong: "the path of the socket is longer than 107 bytes"
        case .unknownParameter: "a unix:// URL takes one parameter, db"
        case .unexpectedFragment: "a Redis URL has no query and no fragment (# must be %23)"
        }
    }
}

/// `redis://[user[:password]@]host[:port][/database]` or
/// `unix://[user[:password]@]/path[?db=database]`, taken apart and percent-decoded.
///
/// `redis://:password@host` has no user name, as redis-cli reads it.
public struct RedisURL: Hashable, Sendable {
    public var endpoint: RedisEndpoint
    public var username: String?
    public var password: String?
    public var database = 0

    /// What `sockaddr_un` holds, without its NUL.
    private static let pathByteCountMax = 107

    public init(parsing text: String) throws(RedisURLError) {
        let bytes = Array(text.utf8)
        guard let schemeEnd = bytes.firstIndex(of: Ascii.colon),
            bytes[schemeEnd...].starts(with: Array("://".utf8))
        else { throw .unknownScheme }
        let rest = bytes[(schemeEnd + 3)...]
        guard !rest.contains(Ascii.hash) else { throw .unexpectedFragment }
        switch String(decoding: bytes[..<schemeEnd].map(ASCII.lowercased), as: UTF8.self) {
        case "redis": try self.init(tcp: rest)
        case "unix": try self.init(unix: rest)
        case "rediss": throw .tlsNotSupported
        default: throw .unknownScheme
        }
    }

    private init(tcp rest: ArraySlice<UInt8>) throws(RedisURLError) {
        guard !rest.contains(Ascii.question) else { throw .unexpectedFragment }
        let authorityEnd = rest.firstIndex(of: Ascii.slash) ?? rest.endIndex
        let (user, place) = Self.splitUser(rest[..<authorityEnd])
        endpoint = try Self.host(place)
        (username, password) = try Self.credentials(user)
        let path = rest[authorityEnd...].dropFirst()
        if !path.isEmpty { database = try Self.database(path) }
    }

    private init(unix rest: ArraySlice<UInt8>) throws(RedisURLError) {
        let pathEnd = rest.firstIndex(of: Ascii.question) ?? rest.endIndex
        guard let pathStart = rest[..<pathEnd].firstIndex(of: Ascii.slash) else {
            throw .missingPath
        }
        let (user, host) = Self.splitUser(rest[..<pathStart])
        guard host.isEmpty else { throw .missingPath }
        let path = try Self.decode(rest[pathStart..<pathEnd])
        guard path.utf8.count > 1 else { throw .missingPath }
        guard path.utf8.count <= Self.pathByteCountMax else { throw .pathTooLong }
        endpoint = .unix(path: path)
        (username, password) = try Self.credentials(user)
        let query = rest[pathEnd...].dropFirst()
        if !query.isEmpty {
            guard query.starts(with: Array("db=".utf8)) else { throw .unknownParameter }
            database = try Self.database(query.dropFirst(3))
        }
    }

    /// The part before the last `@`, nil where there is none, and the part after it.
    private static func splitUser(
        _ authority: ArraySlice<UInt8>
    ) -> (user: ArraySlice<UInt8>?, place: ArraySlice<UInt8>) {
        guard let at = authority.lastIndex(of: Ascii.at) else { return (nil, authority) }
        return (authority[..<at], authority[(at + 1)...])
    }

    private static func credentials(
        _ user: ArraySlice<UInt8>?
    ) throws(RedisURLError) -> (String?, String?) {
        guard let user else { return (nil, nil) }
        guard let colon = user.firstIndex(of: Ascii.colon) else { return (try decode(user), nil) }
        let name = try decode(user[..<colon])
        let password = try decode(user[(colon + 1)...])
        return (name.isEmpty ? nil : name, password.isEmpty ? nil : password)
    }

    private static func host(_ place: ArraySlice<UInt8>) throws(RedisURLError) -> RedisEndpoint {
        var host = place
        var port: ArraySlice<UInt8>?
        if place.first == Ascii.openBracket {
            guard let close = place.firstIndex(of: Ascii.closeBracket) else { throw .badHost }
            host = place[(place.startIndex + 1)..<close]
            let after = place[(close + 1)...]
            guard after.isEmpty || after.first == Ascii.colon else { throw .badHost }
            if !after.isEmpty { port = after.dropFirst() }
            guard host.allSatisfy({ Hex.value($0) != nil || $0 == Ascii.colon || $0 == Ascii.dot })
            else { throw .badHost }
        } else {
            if let colon = place.firstIndex(of: Ascii.colon) {
                host = place[..<colon]
                port = place[(colon + 1)...]
            }
            guard host.allSatisfy(isHostByte) else { throw .badHost }
        }
        guard !host.isEmpty else { throw .missingHost }
        return .tcp(
            host: String(decoding: host, as: UTF8.self),
            port: try port.map { bytes throws(RedisURLError) in try Self.port(bytes) } ?? 6379)
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, Ascii.dot, 0x2D, 0x5F: true
        default: false
        }
    }

    private static func port(_ digits: ArraySlice<UInt8>) throws(RedisURLError) -> UInt16 {
        guard let value = ASCII.decimal(Array(digits).span), let port = UInt16(exactly: value),
            port > 0
        else { throw .badPort }
        return port
    }

    private static func database(_ digits: ArraySlice<UInt8>) throws(RedisURLError) -> Int {
        guard let value = ASCII.decimal(Array(digits).span), let database = UInt16(exactly: value)
        else { throw .badDatabase }
        return Int(database)
    }

    private static func decode(_ text: ArraySlice<UInt8>) throws(RedisURLError) -> String {
        var decoded: [UInt8] = []
        var index = text.startIndex
        while index < text.endIndex {
            guard text[index] == Ascii.percent else {
                decoded.append(text[index])
                index += 1
                continue
            }
            guard text.endIndex - index > 2, let high = Hex.value(text[index + 1]),
                let low = Hex.value(text[index + 2]), high << 4 | low != 0
            else { throw .badPercentEncoding }
            decoded.append(high << 4 | low)
            index += 3
        }
        guard let string = String(validating: decoded, as: UTF8.self) else {
            throw .badPercentEncoding
        }
        return string
    }

    private enum Ascii {
        static let hash: UInt8 = 0x23
        static let percent: UInt8 = 0x25
        static let dot: UInt8 = 0x2E
        static let slash: UInt8 = 0x2F
        static let colon: UInt8 = 0x3A
        static let question: UInt8 = 0x3F
        static let at: UInt8 = 0x40
        static let openBracket: UInt8 = 0x5B
        static let closeBracket: UInt8 = 0x5D
    }
}
