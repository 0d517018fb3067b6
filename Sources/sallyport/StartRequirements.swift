import EventLoop
import Settings

/// What the files and directories that a configuration names have to be for `run` to start and to
/// work. Nothing is made.
struct StartRequirements {
    struct Fault {
        let setting: String
        let text: String
    }

    let settings: Settings

    /// Keys that cannot be read: what is wrong with them does not depend on who looks from where.
    func keyFaults() -> [Fault] {
        var faults: [Fault] = []
        func check(_ setting: String, _ read: () throws -> Void) {
            do { try read() } catch { faults.append(Fault(setting: setting, text: "\(error)")) }
        }
        check("secrets.challenge_key_file") {
            try SecretKeyFiles.readChallengeKeys(for: settings)
        }
        check("secrets.pseudonym_key_file") {
            try SecretKeyFiles.readPseudonymKeys(for: settings)
        }
        return faults
    }

    /// Places that are not there, or that this user may not write to.
    func placeFaults() -> [Fault] {
        var faults: [Fault] = []
        if case .sqlite(let path) = settings.registry { faults += self.faults("registry", path) }
        for (name, destination) in [
            ("log.access", settings.log.access), ("log.events", settings.log.events),
        ] {
            if case .file(let path) = destination { faults += self.faults(name, path) }
        }
        let directory = settings.limits.temporaryDirectory
        do throws(IOError) {
            // Without a name, and gone with the value.
            _ = try TemporaryFile(directory: directory)
        } catch {
            faults.append(
                Fault(
                    setting: "limits.temporary_directory", text: "no file can be made: \(error)"))
        }
        return faults
    }

    /// Of a file that is made where it is missing.
    private func faults(_ setting: String, _ path: String) -> [Fault] {
        let directory = Self.directory(of: path)
        if File.exists(path) {
            return File.canChange(path)
                ? [] : [Fault(setting: setting, text: "\(path) cannot be written")]
        }
        return File.canWrite(inDirectory: directory)
            ? [] : [Fault(setting: setting, text: "no file can be made in \(directory)")]
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Files with secrets that all users of the machine may read or change, the configuration at
    /// `configurationPath` among them where it holds a password in clear text.
    func openSecrets(configurationPath: String) -> [Fault] {
        var faults = settings.secretFiles.filter { File.isOpenToOthers($0.path) }.map { file in
            Fault(
                setting: file.setting,
                text: "\(file.path) is open to all users: chmod o-rwx \(file.path)")
        }
        if File.isOpenToOthers(configurationPath), holdsPassword(configurationPath) {
            faults.append(
                Fault(
                    setting: "configuration",
                    text: "\(configurationPath) holds a password in clear text and is open to all"
                        + " users: chmod o-rwx \(configurationPath)"))
        }
        return faults
    }

    /// Passwords may have come from the environment or from another file.
    private func holdsPassword(_ path: String) -> Bool {
        guard let bytes = try? File.read(path, byteCountMax: ConfigurationFile.byteCountMax) else {
            return false
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return settings.passwords.contains { !$0.isEmpty && text.contains($0) }
    }
}
