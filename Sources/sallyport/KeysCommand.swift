import Administration
import Attestation
import EventLoop
import KeyStore
import SQLiteKeyStore
import Settings

/// `sallyport keys`: manages the registry by hand, also while a gateway runs.
enum KeysCommand {
    static let usage = """
        usage: sallyport keys ACTION [-c FILE] [OPTION...]

          import [FILE]       read JSON lines (default: standard input); never makes a key looser
          export              write every key as JSON lines, for another registry too
          export --user NAME  write what is kept about a user and their keys
          backup FILE         write a copy of an SQLite registry while gateways run
          list                write keys as JSON lines
                              [--limit N] [--after KEY_ID] [--pseudonym P]
          show KEY_ID         everything that is kept about a key
          pseudonym KEY_ID... what stands for these keys in the log
          renew KEY_ID...     renew these keys' receipts, even if their renewal had ended
          renew --outcome O   the same for all receipts of active keys whose last_outcome is O;
                              never: that were never sent; any: all   [--app ID] [--environment E]
          revoke KEY_ID...    refuse these keys from now on
          erase KEY_ID...     delete everything about these keys; they can never enrol again
          erase --user NAME   the same for the keys of a user; for a key that others use too,
                              only the fact that this user used it

          --app ID --environment E --status active|revoked|erased   select, for export and list
          --json   print JSON objects, one on each line; list, show and export always do
          --quiet  show no progress; import, export and backup show it on a terminal only

        A line: {"key_id","public_key" (base64 X9.63 point),"app_id","environment","counter"}
        and whatever else is kept; for an erased key {"key_id","counter","status":"erased"}

        Exit code 3: the change was made, but a server of registry.postgres did not answer. It may
        be the primary by now, and the change lost: repeat it when all of them answer.
        """

    private static let actions = [
        "import", "export", "backup", "list", "show", "pseudonym", "renew", "revoke",
        "erase",
    ]

    static func main(_ words: [String]) {
        guard let action = words.first else { Exit.usage(usage) }
        if ["--help", "-h"].contains(action) { return Console.print(usage) }
        guard actions.contains(action) else {
            Exit.usage("unknown action \(action)\n\n\(usage)")
        }
        let arguments = Arguments(
            Array(words.dropFirst()), options: ["-c", "--config"] + options(of: action),
            flags: ["--json", "--quiet"], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let settings = ConfigurationFile.loadOrExit(path).settings
        do {
            if action == "backup" { return try KeyBackupAction.run(arguments, settings) }
            let registry = try Stores.administration(
                settings, createsIfMissing: action == "import", by: .ofCommand())
            let isChange = ["import", "renew", "revoke", "erase"].contains(action)
            registry.warn(ofChange: isChange)
            try run(action, registry, arguments, settings)
            if isChange { registry.exitIfUnconfirmed() }
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// The options that select keys for `action`. An option that selected nothing would make
    /// `erase` delete more than was asked for.
    private static func options(of action: String) -> [String] {
        switch action {
        case "list":
            ["--app", "--environment", "--status", "--limit", "--after", "--pseudonym"]
        case "export": ["--app", "--environment", "--status", "--user"]
        case "renew": ["--outcome", "--app", "--environment"]
        case "erase": ["--user"]
        default: []
        }
    }

    private static func run(
        _ action: String, _ registry: any RegistryAdministration, _ arguments: Arguments,
        _ settings: Settings
    ) throws {
        if let name = arguments.value("--user") {
            return try ofUser(name, action, registry, arguments, settings)
        }
        switch action {
        case "import": try KeyImportAction.run(registry, arguments, settings)
        case "export":
            warnOfLaterCounters(settings)
            try export(registry, arguments, settings)
        case "pseudonym": try KeyPseudonymAction.tell(registry, arguments, settings)
        case "list" where arguments.value("--pseudonym") != nil:
            try KeyPseudonymAction.find(registry, filter(arguments), arguments, settings)
        case "list": try list(registry, arguments, settings)
        case "show": try show(registry, arguments, settings)
        case "renew":
            try KeyRenewalAction.run(registry, arguments, filter(arguments), settings)
        case "revoke": try KeyRevocationAction.revoke(registry, arguments, settings)
        default: try KeyRevocationAction.erase(registry, arguments, settings)
        }
    }

    private static func ofUser(
        _ name: String, _ action: String, _ registry: any RegistryAdministration,
        _ arguments: Arguments, _ settings: Settings
    ) throws {
        guard arguments.operands.isEmpty else { Exit.usage("--user takes no KEY_ID") }
        guard Set(arguments.options.keys).isSubset(of: ["-c", "--config", "--user"]) else {
            Exit.usage("--user selects alone\n\n\(usage)")
        }
        if action == "export" { return try KeyUserAction.export(registry, name, settings) }
        try KeyUserAction.erase(registry, name, arguments, settings)
    }

    /// The operands as key ids. No operand, or an invalid one, is a usage error.
    static func keyIDs(_ arguments: Arguments) -> [KeyID] {
        guard !arguments.operands.isEmpty else { Exit.usage("KEY_ID is missing\n\n\(usage)") }
        return arguments.operands.map(keyID)
    }

    private static func keyID(_ text: String) -> KeyID {
        guard let keyID = KeyID(base64: text) else {
            Exit.usage("\(text) is not a key id (base64 of 32 bytes)")
        }
        return keyID
    }

    private static func filter(_ arguments: Arguments) -> KeyFilter {
        var filter = KeyFilter()
        filter.appID = arguments.value("--app")
        if let text = arguments.value("--environment") {
            guard let environment = AttestEnvironment(rawValue: text) else {
                Exit.usage("--environment: \(text) is neither production nor development")
            }
            filter.environment = environment
        }
        if let text = arguments.value("--status") {
            guard let status = KeyStatus(rawValue: text) else {
                Exit.usage("--status: \(text) is not one of active, revoked, erased")
            }
            filter.status = status
        }
        if let text = arguments.value("--limit") {
            guard let limit = Int(text), limit > 0 else {
                Exit.usage("--limit: \(text) is not a number above 0")
            }
            filter.countMax = limit
        }
        filter.after = arguments.value("--after").map(keyID)
        return filter
    }

    private static func warnOfLaterCounters(_ settings: Settings) {
        guard case .embedded = settings.counters, case .sqlite(let path) = settings.registry,
            let runner = EmbeddedOwnership.runner(registryPath: path)
        else { return }
        Console.complain(
            "sallyport: the gateway (\(runner)) goes on, and what it accepts from now on is not in "
                + "these counters: to move keys to another gateway, stop it first, then export")
    }

    private static func export(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        var output = OutputBatch()
        let filter = filter(arguments)
        let counters = AcceptedCounters(settings)
        // The bar would be in the way among keys that scroll by.
        let bar = ProgressBar(
            "exporting", "keys", isQuiet: arguments.isQuiet || Terminal.isTerminal(1))
        // Counting them takes as long as reading them, so it is done only for a visible progress
        // bar.
        let total = bar.isShown ? try registry.counts().total(filter) : 0
        var count = 0
        // Including erased keys, so that another registry does not accept them again either.
        try registry.export(filter) { record in
            output.add(KeyLine.text(counters.applied(to: record)))
            count += 1
            bar.show(count, share: total > 0 ? Double(count) / Double(total) : nil)
        }
        output.flush()
        bar.clear()
    }

    private static func list(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        var output = OutputBatch()
        let counters = AcceptedCounters(settings)
        for record in try registry.list(filter(arguments), withReceipts: false) {
            output.add(
                KeyLine.text(counters.applied(to: record), bitNames: settings.deviceBitNames))
        }
        output.flush()
    }

    private static func show(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        let counters = AcceptedCounters(settings)
        for keyID in keyIDs(arguments) {
            guard let record = try registry.find(keyID) else {
                Exit.failed("\(keyID.base64): unknown key")
            }
            Console.print(
                KeyLine.text(
                    counters.applied(to: record), users: try registry.users(of: keyID),
                    bitNames: settings.deviceBitNames))
        }
    }
}

extension Arguments {
    var isQuiet: Bool { flags.contains("--quiet") }
}

extension [KeyCount] {
    /// The number of keys that `filter` selects.
    fileprivate func total(_ filter: KeyFilter) -> Int {
        self.filter { count in
            filter.appID.map { $0 == count.appID } ?? true
                && filter.environment.map { $0 == count.environment } ?? true
                && filter.status.map { $0 == count.status } ?? true
        }.reduce(0) { $0 + $1.count }
    }
}

/// Lines for standard output, which are written in large pieces.
struct OutputBatch {
    private var text = ""

    mutating func add(_ line: String) {
        text += line + "\n"
        if text.utf8.count > 64 * 1024 { flush() }
    }

    mutating func flush() {
        if !text.isEmpty { Console.write(text, to: 1) }
        text = ""
    }
}
