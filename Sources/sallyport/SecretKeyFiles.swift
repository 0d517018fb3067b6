import Bytes
import Crypto
import EventLoop
import Gateway
import KeyStore
import Settings

/// The files of secret keys: read, or made beside the registry on the first start.
enum SecretKeyFiles {
    /// The secret that seals challenges. 32 bytes each; the first seals, and every one opens.
    ///
    /// `makesMissing`: makes a missing file beside the registry. A reload does not, because the
    /// file would stay if the reload were refused.
    static func challengeKeys(
        for settings: Settings, makesMissing: Bool = true
    ) throws -> [[UInt8]] {
        if let path = settings.secrets.challengeKeyFile { return try read(path) }
        guard let path = challengePath(settings) else {
            throw ConfigurationFailure("secrets.challenge_key_file is needed with this registry")
        }
        return try read(besideRegistry: path, makesMissing)
    }

    /// The secret of pseudonyms. 32 bytes each; the first makes them, and those of every one are
    /// recognised. Empty if it is derived from the secret of challenges.
    static func pseudonymKeys(
        for settings: Settings, makesMissing: Bool = true
    ) throws -> [[UInt8]] {
        if let path = settings.secrets.pseudonymKeyFile { return try read(path) }
        guard let path = pseudonymPath(settings) else { return [] }
        return try read(besideRegistry: path, makesMissing)
    }

    /// Reads the secret that seals challenges, if it exists or must exist. Makes no file.
    static func readChallengeKeys(for settings: Settings) throws {
        if let path = settings.secrets.challengeKeyFile {
            _ = try read(path)
        } else if let path = challengePath(settings) {
            try readIfPresent(path)
        }
    }

    /// Reads the file of the secret of pseudonyms, to see that it can be read.
    static func readPseudonymKeys(for settings: Settings) throws {
        if let path = settings.secrets.pseudonymKeyFile {
            _ = try read(path)
        } else if let path = pseudonymPath(settings) {
            try readIfPresent(path)
        }
    }

    private static func readIfPresent(_ path: String) throws {
        if File.exists(path) { _ = try read(path) }
    }

    /// What `doctor` says of secrets beside the registry that are missing though that is there.
    static func missingWords(_ settings: Settings) -> [String] {
        guard case .sqlite(let registryPath) = settings.registry, File.exists(registryPath) else {
            return []
        }
        let secrets = settings.secrets
        let paths = [
            secrets.challengeKeyFile == nil ? challengePath(settings) : nil,
            secrets.pseudonymKeyFile == nil ? pseudonymPath(settings) : nil,
        ]
        return paths.compactMap(\.self).filter { !File.exists($0) }.map {
            "\($0) is missing, and the next start makes it anew: bring it back after a restore"
        }
    }

    /// Reads the keys for commands. Makes no file, because the gateway's user might not be able to
    /// read it.
    static func pseudonyms(for settings: Settings) throws -> Pseudonyms {
        let path = settings.secrets.pseudonymKeyFile ?? pseudonymPath(settings)
        let keys = try path.map(read) ?? challengeKeys(for: settings)
        guard let pseudonyms = Pseudonyms(secrets: keys) else {
            throw ConfigurationFailure("the pseudonym keys are not 32 bytes each")
        }
        return pseudonyms
    }

    private static func challengePath(_ settings: Settings) -> String? {
        guard case .sqlite(let registryPath) = settings.registry else { return nil }
        return registryPath + ".challenge-key"
    }

    private static func pseudonymPath(_ settings: Settings) -> String? {
        guard case .sqlite(let registryPath) = settings.registry else { return nil }
        return registryPath + ".pseudonym-key"
    }

    private static func read(
        besideRegistry path: String, _ makesMissing: Bool
    ) throws -> [[UInt8]] {
        if !File.exists(path) {
            guard makesMissing else {
                throw ConfigurationFailure(
                    "\(path) is missing, and only a start makes it: bring it back, or restart",
                    needsRestart: true)
            }
            var line = Array((Base64.encode(RandomBytes.bytes(32)) + "\n").utf8)
            defer { line.wipe() }
            try File.write(path, line, mode: 0o600)
        }
        return try read(path)
    }

    private static func read(_ path: String) throws -> [[UInt8]] {
        var text = try content(path)
        defer { text.wipe() }
        switch ChallengeKeys.parse(text, fileName: path) {
        case .success(let keys): return keys
        case .failure(let problem): throw ConfigurationFailure(problem.description)
        }
    }

    /// The content of the file. If it cannot be read, root has probably made it, for itself alone.
    private static func content(_ path: String) throws -> [UInt8] {
        do throws(IOError) {
            return try File.read(path, byteCountMax: 64 * 1024)
        } catch {
            guard error.reason == .permissionDenied else { throw error }
            throw ConfigurationFailure(
                "\(error): let the gateway's user read it, `chgrp sallyport` and `chmod 640`")
        }
    }
}
