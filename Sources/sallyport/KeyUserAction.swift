import Administration
import Attestation
import Bytes
import JSON
import KeyStore
import Settings

/// `--user NAME` of `sallyport keys`: the keys that were used for a user, by the name in the
/// configured header.
enum KeyUserAction {
    /// Prints each key with its data about the user.
    static func export(
        _ registry: any RegistryAdministration, _ name: String, _ settings: Settings
    ) throws {
        let users = try pseudonyms(of: name, settings)
        let known = try keys(of: users, registry)
        guard !known.isEmpty else { Exit.failed("nothing is kept about this user") }
        // First, and without the name, which must not be kept.
        try registry.append(
            AuditNote(
                .exportUser, "", outcome: "done", detail: String(counting: known.count, "key")))
        var output = OutputBatch()
        let counters = AcceptedCounters(settings)
        for found in known {
            guard let record = try registry.find(found.keyID) else { continue }
            output.add(
                KeyLine.text(
                    counters.applied(to: record), users: [found],
                    bitNames: settings.deviceBitNames))
        }
        output.flush()
    }

    /// Erases the keys that were used for this user alone; of the others, only the link to this
    /// user.
    static func erase(
        _ registry: any RegistryAdministration, _ name: String, _ arguments: Arguments,
        _ settings: Settings
    ) throws {
        let users = try pseudonyms(of: name, settings)
        let found = try keys(of: users, registry)
        guard !found.isEmpty else { Exit.failed("nothing is kept about this user") }
        var own: [KeyID] = []
        for keyID in Set(found.map(\.keyID)).sorted(by: { $0.digest < $1.digest }) {
            if try registry.users(of: keyID).allSatisfy({ users.contains($0.user) }) {
                own.append(keyID)
            } else {
                tell(kept: keyID, asJSON: arguments.wantsJSON)
            }
        }
        // Keys first, so that a repeated erasure finds the rest of them after an interruption.
        if !own.isEmpty { try KeyRevocationAction.erase(registry, own, arguments, settings) }
        for user in users { try registry.forget(user) }
    }

    private static func tell(kept keyID: KeyID, asJSON: Bool) {
        guard asJSON else {
            return Console.print(
                "\(keyID.base64): used for others too, kept without this user")
        }
        MachineOutput.print { writer in
            writer.member("key_id", string: keyID.base64)
            writer.member("outcome", string: "kept")
        }
    }

    private static func pseudonyms(
        of name: String, _ settings: Settings
    ) throws -> [UserPseudonym] {
        let bytes = Array(name.utf8)
        return try SecretKeyFiles.pseudonyms(for: settings).pseudonyms(ofUser: bytes.span)
    }

    private static func keys(
        of users: [UserPseudonym], _ registry: any RegistryAdministration
    ) throws -> [KeyUser] {
        var found: [KeyUser] = []
        for user in users { found += try registry.keys(of: user) }
        return found
    }
}
