import Bytes
import HTTP

/// Reads `headers`.
enum HeaderReader {
    static var kind: Kind<HeaderNames> {
        let start = HeaderNames()
        let form = Form(start) {
            Setting("assertion", \.assertion, .text(.header, name), "Carries the assertion.")
            Setting(
                "client_data", \.clientData, .text(.header, name), "Carries the client data.")
            Setting("key_id", \.keyID, .text(.header, name), "Carries the key id.")
            Setting("token", \.token, .text(.header, name), "Carries a session token.")
            Setting(
                "device_check", \.deviceCheck, .text(.header, name),
                "Carries a token of DeviceCheck.")
        }
        return Kind.section(form).reading { field in
            field.section { section in
                var names = start
                form.read(&section, into: &names)
                var taken: [(key: String, folded: String)] = []
                for (key, name) in zip(form.keys, names.all) {
                    let folded = fold(name)
                    if let other = taken.first(where: { $0.folded == folded }) {
                        (section.field(key) ?? section.field(other.key))?.error(
                            "\(quoted(name)) is the name of \(other.key) too, or differs in - and "
                                + "_ only")
                    }
                    taken.append((key, folded))
                }
                return names
            }
        }
    }

    private static func name(_ field: Field) -> String? {
        guard let text = field.headerName() else { return nil }
        let name = text.value.lowercased()
        guard !isReserved(fold(name)) else {
            field.error(
                "\(text.shown) has a meaning of its own, and the named headers are removed from "
                    + "every request")
            return nil
        }
        return name
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

    /// As the gateway compares names when it strips them.
    static func fold(_ name: String) -> String {
        String(
            decoding: name.lowercased().utf8.map { byte -> UInt8 in
                let isWord = (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                return isWord ? byte : 0x2D
            }, as: UTF8.self)
    }

    static func isName(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy(isTokenByte)
    }

    static let valueRule =
        "is not a header value: printable ASCII, without spaces around it, at most 4096 bytes"

    /// Narrower than RFC 9110 section 5.5: bytes beyond ASCII mean something else to each reader.
    static func isValue(_ text: String) -> Bool {
        text.utf8.count <= 4096 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            && text.utf8.first != 0x20 && text.utf8.last != 0x20
    }

    /// RFC 9110 section 5.6.2.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        let folded = ASCII.lowercased(byte)
        return (0x61...0x7A).contains(folded) || (0x30...0x39).contains(byte)
            || "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
}

extension Field {
    /// A text that can name a header.
    func headerName() -> SettingText? {
        guard let text = text() else { return nil }
        guard HeaderReader.isName(text.value) else {
            error("\(text.shown) is not a header name (RFC 9110 section 5.1)")
            return nil
        }
        return text
    }
}
