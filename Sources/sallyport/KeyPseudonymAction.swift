import AppAttest
import KeyStore
import Settings

/// `sallyport keys pseudonym`, and `keys list --pseudonym`: from a key to what stands for it in the
/// log, and back.
enum KeyPseudonymAction {
    static func tell(_ arguments: Arguments, _ settings: Settings) throws {
        let keyIDs = KeysCommand.keyIDs(arguments)
        let pseudonyms = try SecretKeyFiles.pseudonyms(for: settings)
        for keyID in keyIDs { Console.print("\(keyID.base64): \(pseudonyms.pseudonym(of: keyID))") }
    }

    /// Looks at every key that fits: nothing leads back from a pseudonym but to try.
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
        var isFound = false
        var filter = filter
        filter.countMax = 10_000
        while true {
            let page = try registry.list(filter, withReceipts: false)
            for record in page where pseudonyms.isPseudonym(pseudonym, of: record.keyID) {
                isFound = true
                output.add(KeyLine.text(record, bitNames: settings.deviceBitNames))
            }
            guard let last = page.last else { break }
            filter.after = last.keyID
        }
        output.flush()
        if !isFound { Exit.failed("no key has the pseudonym \(pseudonym)") }
    }
}
