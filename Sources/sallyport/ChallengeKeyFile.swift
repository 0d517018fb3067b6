import Bytes
import Crypto
import EventLoop
import Gateway
import Settings

/// The secret that seals challenges: read, or made beside the registry on the first start.
enum ChallengeKeyFile {
    /// 32 bytes each; the first seals, every one opens.
    static func keys(for settings: Settings) throws -> [[UInt8]] {
        if let path = settings.secrets.challengeKeyFile { return try read(path) }
        guard case .sqlite(let registryPath) = settings.registry else {
            throw ConfigurationFailure("secrets.challenge_key_file is needed with this registry")
        }
        let path = registryPath + ".challenge-key"
        if !File.exists(path) { try make(path) }
        return try read(path)
    }

    private static func read(_ path: String) throws -> [[UInt8]] {
        let text = try File.read(path, byteCountMax: 64 * 1024)
        switch ChallengeKeys.parse(text, fileName: path) {
        case .success(let keys): return keys
        case .failure(let problem): throw ConfigurationFailure(problem.description)
        }
    }

    private static func make(_ path: String) throws {
        let line = Base64.encode(RandomBytes.bytes(32)) + "\n"
        try File.write(path, Array(line.utf8), mode: 0o600)
    }
}
