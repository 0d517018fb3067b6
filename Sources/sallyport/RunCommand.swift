import EventLoop
import Gateway
import KeyStore
import SQLiteKeyStore
import Settings

/// `sallyport run`: runs the gateway.
enum RunCommand {
    static let usage = """
        usage: sallyport run [-c FILE] [--watch]

          --watch   reload whenever the configuration, or a file that it names, changes
        """

    static func main(_ words: [String]) {
        // First of all, so that such requests are carried out once the gateway runs.
        SignalWatch.holdRequests()
        let arguments = Arguments(
            words, options: ["-c", "--config"], flags: ["--watch"], usage: usage)
        arguments.refuseOperands(usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let watch = arguments.flags.contains("--watch")
        do {
            // Before any secret is read.
            HostSystem.forbidUnwantedDumps()
            _ = HostSystem.raiseDescriptorLimit()
            var inherited = try InheritedListeners.take()
            while let kept = try serve(path, inherited, watch: watch) {
                let failure = Replacement.start(with: kept)
                // The program was there a moment ago and accepted the configuration, so this one
                // goes on serving.
                Console.complain("sallyport: upgrade: \(failure); still serving")
                inherited = kept
            }
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// The stores and listeners that a start has opened.
    private final class Opened {
        var listeners: Listeners?
        var stores: Stores?

        /// Closes everything, also after a failed start: the state of the last clean stop is kept
        /// for the next.
        func close() {
            stores?.close { Console.complain("sallyport: \($0.message)") }
            listeners?.closeUnserved()
        }
    }

    /// Serves until it is told to stop. Returns the listeners, with everything else closed, if
    /// another program is to take over.
    private static func serve(
        _ path: String, _ inherited: InheritedListeners, watch: Bool
    ) throws -> InheritedListeners? {
        let opened = Opened()
        defer { opened.close() }
        let gateway = try gateway(path, inherited, watch: watch, opened)
        return try gateway.run(opened.stores?.life) { Console.complain("sallyport: \($0)") }
    }

    /// Makes the gateway. The keys that are read here outlive the call only in the gateway, which
    /// forgets old keys with each reload.
    private static func gateway(
        _ path: String, _ inherited: InheritedListeners, watch: Bool, _ opened: Opened
    ) throws -> Gateway {
        let files = ConfigurationFiles()
        let settings = ConfigurationFile.loadOrExit(path, noting: files, warns: true).settings
        let supervisor = try Supervisor()
        let beat = try OpeningBeat(supervisor)
        defer { beat?.end() }
        // Before any file is made, so that a start that fails because an address is in use leaves
        // none.
        let listeners = try listeners(settings, inherited)
        opened.listeners = listeners
        let stores = try Stores(settings) {
            // From here on a start either succeeds or is undone. It may still wait for a disk, with
            // the counters that earlier gateways have accepted.
            SignalWatch.hold()
        }
        opened.stores = stores
        let registry = settings.registry
        return try Gateway(
            try LoadedConfiguration(readingSecretsFor: settings, noting: files, makesMissing: true),
            listeners: listeners, registry: stores.registry,
            counters: stores.counters, floors: stores.floors, version: Version.text,
            supervisor: supervisor, reload: reader(path, files),
            watching: watch ? files : nil,
            checkUpgrade: { Replacement.problem(configurationPath: path) },
            countKeys: { try? Stores.administration(registry).counts() },
            administration: AdministrationAccess(
                open: { try Stores.administration($0) },
                markRevoked: KeyRevocationAction.mark))
    }

    private static func listeners(
        _ settings: Settings, _ inherited: InheritedListeners
    ) throws -> Listeners {
        do {
            return try Listeners(settings, inherited: inherited)
        } catch let error as IOError where error.reason == .permissionDenied {
            let refused = settings.binds.first {
                (try? $0.socketAddress())?.description == error.subject
            }
            guard let remedy = refused?.privilegeRemedy else { throw error }
            throw ConfigurationFailure("\(error): \(remedy)")
        } catch let error as IOError where error.reason == .addressInUse {
            let taken = settings.binds.lazy.compactMap { try? $0.socketAddress() }
                .first { $0.description == error.subject }
            // The holder of a unix socket cannot be found; that of a TCP port can.
            guard let taken, taken.port != nil else { throw error }
            guard let owner = ListenerOwner.find(at: taken) else {
                throw ConfigurationFailure(
                    "\(error) by a process that only root may look into; `sallyport doctor`, run "
                        + "as root, names it")
            }
            throw ConfigurationFailure("\(error) by \(owner.words)")
        }
    }

    /// Reads the configuration again.
    private static func reader(
        _ path: String, _ files: ConfigurationFiles
    ) -> ConfigurationReader {
        ConfigurationReader {
            switch ConfigurationFile.load(path, noting: files) {
            case .success(let loaded):
                for file in loaded.settings.secretFiles { files.note(file.path) }
                return loaded.settings
            case .failure(let problems):
                let text = problems.problems.map(\.description).joined(separator: "; ")
                throw ConfigurationFailure(text)
            }
        } secrets: {
            try LoadedConfiguration(readingSecretsFor: $0, noting: files, makesMissing: false)
        }
    }
}

extension LoadedConfiguration {
    fileprivate init(
        readingSecretsFor settings: Settings, noting files: ConfigurationFiles, makesMissing: Bool
    ) throws {
        for file in settings.secretFiles { files.note(file.path) }
        self.init(
            settings: settings,
            challengeKeys: try SecretKeyFiles.challengeKeys(
                for: settings, makesMissing: makesMissing),
            pseudonymKeys: try SecretKeyFiles.pseudonymKeys(
                for: settings, makesMissing: makesMissing))
    }
}
