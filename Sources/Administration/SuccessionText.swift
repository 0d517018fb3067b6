import Attestation
import EventLoop
package import JSON
package import KeyStore

/// The place of a key in its installation, as a member of a ``KeyLine``. The installation's id
/// stands beside it, because keys without such a place have one, too.
package enum SuccessionText {
    /// Writes the newer key of a revoked key's installation as members of an object.
    package static func write(_ newer: NewerKey, to writer: inout JSONWriter) {
        writer.member("installation", string: newer.installation.description)
        writer.member("newer_key", string: newer.keyID.base64)
    }

    static func write(_ place: KeySuccession, to writer: inout JSONWriter) {
        writer.beginObject("succession")
        writer.member("generation", int: Int64(place.generation))
        writer.member("began_at", string: WallClock.timestamp(seconds: place.beganAt))
        if let key = place.predecessor { writer.member("predecessor", string: key.base64) }
        if let key = place.successor { writer.member("successor", string: key.base64) }
        if place.retiresPredecessor { writer.member("retires_predecessor", bool: true) }
        if place.isRetired { writer.member("retired", bool: true) }
        writer.endObject()
    }

    static func parse(
        _ value: JSONValue?, installation: String?
    ) throws(KeyLine.Failure) -> KeySuccession? {
        guard let value, value != .null else { return nil }
        guard case .object(let members) = value else {
            throw KeyLine.Failure("succession is not an object")
        }
        guard let installation = installation.flatMap({ InstallationID($0) }) else {
            throw KeyLine.Failure("installation is not 32 hexadecimal digits")
        }
        guard
            let generation = try KeyLine.integer("generation", members)
                .flatMap({ UInt32(exactly: $0) }),
            let beganAt = try KeyLine.optional("began_at", members)
                .flatMap({ WallClock.seconds(fromTimestamp: $0) })
        else {
            throw KeyLine.Failure(
                "succession needs generation, an integer, and began_at, an RFC 3339 time")
        }
        return KeySuccession(
            installation: installation, generation: generation, beganAt: beganAt,
            predecessor: try key("predecessor", members),
            successor: try key("successor", members),
            retiresPredecessor: members["retires_predecessor"] == .bool(true),
            isRetired: members["retired"] == .bool(true))
    }

    private static func key(
        _ name: String, _ members: [String: JSONValue]
    ) throws(KeyLine.Failure) -> KeyID? {
        guard let text = try KeyLine.optional(name, members) else { return nil }
        guard let keyID = KeyID(base64: text) else {
            throw KeyLine.Failure("succession: \(name) is not base64 of 32 bytes")
        }
        return keyID
    }
}
