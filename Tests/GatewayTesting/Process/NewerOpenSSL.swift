import Foundation

/// OpenSSL 3.5, by which programs run that are linked with Debian's 3.0.
public enum NewerOpenSSL {
    /// Where scripts/install.sh puts its libraries; nil where it could not.
    private static let folder: String? = {
        let path = Repository.path(of: ".build/python/openssl")
        return FileManager.default.fileExists(atPath: path + "/libssl.so.3") ? path : nil
    }()

    public static var isInstalled: Bool { folder != nil }

    /// What goes before a command that shall run with it.
    public static var launcher: [String] { folder.map { ["env", "LD_LIBRARY_PATH=\($0)"] } ?? [] }

    /// Runs a command with it to its end.
    public static func run(
        _ command: [String], standardInput: [UInt8] = []
    ) throws -> ChildProcess.Outcome {
        let words = launcher + command
        return try ChildProcess.run(
            words[0], Array(words.dropFirst()), standardInput: standardInput)
    }
}
