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
        let loaded = ConfigurationFile.loadOrExit(path)
        let settings = loaded.settings
        do {
            _ = HostSystem.raiseDescriptorLimit()
            // Before any file is made: a start that fails for an address in use leaves nothing.
            let listeners = try Listeners(settings)
            defer { listeners.closeUnserved() }
            let stores = try Stores(settings)
            // Also after a start that failed: what the last clean stop left is kept for the next.
            defer { stores.close() }
            let keys = try ChallengeKeyFile.keys(for: settings)
            let gateway = try Gateway(
                LoadedConfiguration(settings: settings, challengeKeys: keys),
                listeners: listeners, registry: stores.registry,
                embeddedCounters: stores.embeddedCounters, version: Version.text,
                reload: { reload(path) })
            try gateway.run()
        } catch {
            Exit.failed("\(error)")
        }
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
                let keys = try ChallengeKeyFile.keys(for: loaded.settings)
                return .success(
                    LoadedConfiguration(settings: loaded.settings, challengeKeys: keys))
            } catch {
                return .failure(ConfigurationFailure("\(error)"))
            }
        }
    }
}
