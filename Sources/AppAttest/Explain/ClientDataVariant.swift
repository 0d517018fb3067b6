import Bytes
import Crypto

/// The usual ways in which an app and its server disagree about what is hashed.
enum ClientDataVariant {
    /// Says which other form of `clientData` satisfies `matches`; nil if none does.
    static func name(of clientData: [UInt8], where matches: ([UInt8]) -> Bool) -> String? {
        candidates(clientData).first { matches($0.nonceSuffix) }?.name
    }

    private static func candidates(
        _ clientData: [UInt8]
    ) -> [(name: String, nonceSuffix: [UInt8])] {
        var candidates: [(name: String, nonceSuffix: [UInt8])] = [
            ("it matches the client data itself: the app did not hash it", clientData),
            (
                "it matches SHA-256(SHA-256(client data)): it was hashed twice",
                SHA256.hash(SHA256.hash(clientData).array).array
            ),
            (
                "it matches the hash of the client data's base64 text",
                SHA256.hash(Array(Base64.encode(clientData).utf8)).array
            ),
            (
                "it matches the hash of the client data's base64url text",
                SHA256.hash(Base64.encodeURLBytes(clientData)).array
            ),
            (
                "it matches the hash of the client data's hexadecimal text",
                SHA256.hash(Array(Hex.encode(clientData).utf8)).array
            ),
        ]
        if let decoded = Base64.decode(clientData.span) {
            candidates.append(
                (
                    "it matches the hash of the bytes that the client data's base64 encodes",
                    SHA256.hash(decoded).array
                ))
        }
        if let last = clientData.last, last == 0x0A {
            candidates.append(
                (
                    "it matches the client data without its last line feed",
                    SHA256.hash(Array(clientData.dropLast())).array
                ))
        }
        return candidates
    }
}
