import Administration
import Attestation
import JSON
import KeyStore
import Settings

/// `sallyport keys pseudonym`, and `keys list --pseudonym`: lead from a key to its name in the log,
/// and back.
enum KeyPseudonymAction {
    /// The audit log has it first, because the holder of a pseudonym can follow the key through the
    /// log.
    static func tell(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        let keyIDs = KeysCommand.keyIDs(arguments)
        let pseudonyms = try SecretKeyFiles.pseudonyms(for: settings)
        for keyID in keyIDs {
            try registry.append(AuditNote(.identifyKey, keyID.base64, outcome: "done"))
            let pseudonym = pseudonyms.pseudonym(of: keyID)
            guard arguments.wantsJSON else {
                Console.print("\(keyID.base64): \(pseudonym)")
                continue
            }
            MachineOutput.print { writer in
                writer.member("key_id", string: keyID.base64)
                writer.member("pseudonym", string: "\(pseudonym)")
            }
        }
    }

    /// Tries every key that the filter selects, because a pseudonym does not lead back to its key.
    static func find(
        _ registry: any RegistryAdministration, _ filter: KeyFilter, _ arguments: Arguments,
        _ settings: Settings
    ) throws {
        let text = arguments.value("--pseudonym") ?? ""
        guard let pseudonym = Pseudonym(text) else {
            Exit.usage("--pseudonym: \(text) is not 16 hexadecimal digits")
        }
        let pseudonyms = try SecretKeyFiles.pseudonyms(for: settings)
        var output = OutputBatch()
        let counters = AcceptedCounters(settings)
        var isFound = false
        var filter = filter
        filter.countMax = 10_000
        while true {
            let page = try registry.list(filter, withReceipts: false)
            for record in page where pseudonyms.isPseudonym(pseudonym, of: record.keyID) {
                isFound = true
                try registry.append(
                    AuditNote(
                        .identifyKey, record.keyID.base64, outcome: "done",
                        detail: "by pseudonym \(pseudonym)"))
                output.add(
                    KeyLine.text(counters.applied(to: record), bitNames: settings.deviceBitNames))
            }
            guard let last = page.last else { break }
            filter.after = last.keyID
        }
        output.flush()
        if !isFound { Exit.failed("no key has the pseudonym \(pseudonym)") }
    }
}
