import Crypto
public import Settings

/// The content of a configuration file that was just read.
public struct LoadedConfiguration: Sendable {
    public let settings: Settings
    let challengeKeys: [Secret]
    let pseudonymKeys: [Secret]

    /// `challengeKeys`: 32 bytes each; the first seals. `pseudonymKeys`: likewise, the first makes
    /// pseudonyms; if empty, they are derived from those of challenges. The caller must not keep
    /// them.
    public init(
        settings: Settings, challengeKeys: [[UInt8]], pseudonymKeys: [[UInt8]] = []
    ) {
        self.settings = settings
        self.challengeKeys = challengeKeys.map(Secret.init)
        self.pseudonymKeys = pseudonymKeys.map(Secret.init)
    }
}

/// Reads the configuration for a reload: the settings first, so that nothing that they name is
/// touched if the gateway cannot take them. Both steps block.
public struct ConfigurationReader: Sendable {
    let settings: @Sendable () throws -> Settings
    /// Adds the secrets. It must make no file: a reload that fails leaves nothing behind.
    let secrets: @Sendable (Settings) throws -> LoadedConfiguration

    public init(
        settings: @escaping @Sendable () throws -> Settings,
        secrets: @escaping @Sendable (Settings) throws -> LoadedConfiguration
    ) {
        self.settings = settings
        self.secrets = secrets
    }

    /// The configuration that replaces `current`.
    func read(inPlaceOf current: Settings) throws(ConfigurationFailure) -> LoadedConfiguration {
        do {
            let next = try settings()
            try current.refuseFixedChanges(to: next)
            return try secrets(next)
        } catch {
            throw ConfigurationFailure(of: error)
        }
    }
}

extension ConfigurationFailure {
    /// Returns `error` itself if it is such a failure, or one with its words.
    init(of error: any Error) {
        self = error as? ConfigurationFailure ?? ConfigurationFailure("\(error)")
    }
}

extension Settings {
    /// Refuses changes that a running process cannot make.
    func refuseFixedChanges(to next: Settings) throws(ConfigurationFailure) {
        let fixed = [
            ("workers", next.workerCount == workerCount),
            ("registry", next.registry == registry),
            ("counters", counters.mayBecome(next.counters)),
            ("counters.floors_directory", next.floors.directory == floors.directory),
            ("log", next.log == log),
            ("key_cache", next.keyCache == keyCache),
            ("crypto", next.crypto == crypto),
            (
                "limits.registry_queue",
                next.limits.registryQueueCountMax == limits.registryQueueCountMax
            ),
            (
                "limits.registry_log",
                next.limits.registryLogByteCountMax == limits.registryLogByteCountMax
            ),
        ]
        for (key, isSame) in fixed where !isSame {
            throw ConfigurationFailure(
                "\(key) cannot change without a restart", needsRestart: true)
        }
    }
}
