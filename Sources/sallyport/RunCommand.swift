import EventLoop
import Gateway
import KeyStore
import SQLiteKeyStore
import Settings

/// `sallyport run`: the gateway itself.
enum RunCommand {
    static let usage = "usage: sallyport run -c FILE"

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: ["-c", "--config"], flags: [], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        do {
            _ = HostSystem.raiseDescriptorLimit()
            var inherited = try InheritedListeners.take()
            while let kept = try serve(path, inherited) {
                let failure = Replacement.start(with: kept)
                // It was there a moment ago, and took the configuration; so this one serves on.
                Console.complain("sallyport: upgrade: \(failure); serving on")
                inherited = kept
            }
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// Serves until it is told to stop. Returns the listeners, with everything else closed, where
    /// another program is to take over.
    private static func serve(
        _ path: String, _ inherited: InheritedListeners
    ) throws -> InheritedListeners? {
        let loaded = ConfigurationFile.loadOrExit(path)
        let settings = loaded.settings
        let supervisor = try Supervisor()
        // Before any file is made: a start that fails for an address in use leaves nothing.
        let listeners = try Listeners(settings, inherited: inherited)
        defer { listeners.closeUnserved() }
        let stores = try Stores(settings)
        // Also after a start that failed: what the last clean stop left is kept for the next.
        defer { stores.close() }
        let gateway = try Gateway(
            try LoadedConfiguration(readingSecretsFor: settings),
            listeners: listeners, registry: stores.registry,
            counters: stores.counters, floors: stores.floors, version: Version.text,
            supervisor: supervisor, reload: { reload(path) },
            checkUpgrade: { Replacement.problem(configurationPath: path) })
        return try gateway.run()
    }

    /// Reads the configuration again, for SIGHUP.
    private static func reload(
        _ path: String
    ) -> Result<LoadedConfiguration, ConfigurationFailure> {
        switch ConfigurationFile.load(path) {
        case .failure(let problems):
            let text = problems.problems.map(\.description).joined(separator: "; ")
            return .failure(ConfigurationFailure(text))
        case .success(let loaded):
            do {
                return .success(try LoadedConfiguration(readingSecretsFor: loaded.settings))
            } catch {
                return .failure(ConfigurationFailure("\(error)"))
            }
        }
    }
}

extension LoadedConfiguration {
    fileprivate init(readingSecretsFor settings: Settings) throws {
        self.init(
            settings: settings, challengeKeys: try SecretKeyFiles.challengeKeys(for: settings),
            pseudonymKeys: try SecretKeyFiles.pseudonymKeys(for: settings))
    }
}
