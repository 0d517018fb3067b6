import HTTP

/// Reads `headers`.
enum HeaderReader {
    static var kind: Kind<HeaderNames> {
        let name = Kind<String>.header(
            "has a meaning of its own, and the named headers are removed from every request"
        ) { !isReserved($0) }
        let form = Form(HeaderNames()) {
            Setting("assertion", \.assertion, name, "The header with the assertion.")
            Setting("client_data", \.clientData, name, "The header with the client data.")
            Setting("key_id", \.keyID, name, "The header with the key id.")
            Setting(
                "token", \.token, name,
                "The header with a session or developer token.")
            Setting(
                "device_check", \.deviceCheck, name,
                "The header with a DeviceCheck token.")
        }
        return .section(form) { section, names in
            var taken: [(key: String, folded: String)] = []
            for (key, name) in zip(form.keys, names.all) {
                let folded = fold(name)
                if let other = taken.first(where: { $0.folded == folded }) {
                    (section.field(key) ?? section.field(other.key))?.error(
                        "\(quoted(name)) is the name of \(other.key) too, or differs in - and _ "
                            + "only")
                }
                taken.append((key, folded))
            }
        }
    }

    /// Fields that frame messages, that the gateway writes, or that applications need.
    private static let reserved: Set<String> = {
        var names = Set(KnownField.allCases.map { "\($0.name)" })
        names.formUnion([
            "x-app-attest-challenge", "accept-encoding", "accept-language", "origin", "referer",
            "range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
            "content-language", "content-range", "max-forwards",
        ])
        return names
    }()

    static func isReserved(_ folded: String) -> Bool {
        reserved.contains(folded) || folded.hasPrefix("x-attest-")
    }

    /// The name as the gateway compares it when it strips headers.
    static func fold(_ name: String) -> String {
        String(
            decoding: name.lowercased().utf8.map { byte -> UInt8 in
                byte.isLetterOrDigit ? byte : 0x2D
            }, as: UTF8.self)
    }

    static let nameRule = "is not a header name (RFC 9110 section 5.1)"

    static func isName(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count <= 128 && bytes.span.isToken
    }

    static let valueRule =
        "is not a header value: printable ASCII, without spaces around it, at most 4096 bytes"

    /// True if the text may be a value. Stricter than RFC 9110 section 5.5: bytes beyond ASCII are
    /// refused, because programs read them differently.
    static func isValue(_ text: String) -> Bool {
        text.utf8.count <= 4096 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            && text.utf8.first != 0x20 && text.utf8.last != 0x20
    }
}

extension Kind where Value == String {
    /// The name of a header, in lower case. `isAllowed` must hold for its folded form; `rule`
    /// follows a wrong name in the message.
    static func header(_ rule: String, _ isAllowed: @escaping (String) -> Bool) -> Kind {
        Kind(.header, text: \.self) { text throws(Fault) in
            guard HeaderReader.isName(text) else { throw Fault(HeaderReader.nameRule) }
            guard isAllowed(HeaderReader.fold(text)) else { throw Fault(rule) }
            return text.lowercased()
        }
    }

    /// The value of a header.
    static func headerValue(_ form: String) -> Kind {
        text(.text(form), HeaderReader.valueRule, HeaderReader.isValue)
    }
}
