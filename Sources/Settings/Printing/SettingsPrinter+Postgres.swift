extension SettingsPrinter {
    static func write(_ postgres: PostgresSettings, to yaml: inout YAMLText) {
        yaml.entry("postgres", text: url(of: postgres))
        PostgresReader.form.write(postgres, to: &yaml)
    }

    private static func url(of postgres: PostgresSettings) -> String {
        var text = "postgresql://"
        if postgres.user != nil || postgres.password != nil {
            text += encode(postgres.user ?? "")
            if postgres.password != nil { text += ":\(passwordMask)" }
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
        var encoded = ""
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            let isUnreserved =
                byte < 0x80
                && (character.isLetter || character.isNumber || "-._~".contains(character))
            encoded += isUnreserved ? String(character) : "%" + Self.hexadecimal(byte)
        }
        return encoded
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
}
