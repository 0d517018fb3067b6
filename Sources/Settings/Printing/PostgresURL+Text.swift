extension PostgresURL {
    /// The URL of a PostgreSQL, its password masked.
    static func text(of postgres: PostgresSettings) -> String {
        var text = "postgresql://"
        if postgres.user != nil || postgres.password != nil {
            text += encode(postgres.user ?? "")
            if postgres.password != nil { text += ":\(SettingsPrinter.passwordMask)" }
            text += "@"
        }
        text += postgres.hosts.map { host in
            host.name.hasPrefix("/")
                ? encode(host.name) : Endpoint.tcp(host: host.name, port: host.port).description
        }.joined(separator: ",")
        if let database = postgres.database { text += "/\(encode(database))" }
        let parameters = postgres.parameters.sorted { $0.key < $1.key }
        if !parameters.isEmpty {
            text += "?" + parameters.map { "\($0.key)=\(encode($0.value))" }.joined(separator: "&")
        }
        return text
    }

    /// Percent-encodes all but unreserved characters (RFC 3986 section 2.3).
    private static func encode(_ text: String) -> String {
        text.utf8.map { byte in
            if byte.isLetterOrDigit || byte.isOne(of: "-._~") {
                return String(Unicode.Scalar(byte))
            }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}
