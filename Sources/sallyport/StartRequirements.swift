import Crypto
import EventLoop
import KeyStore
import Settings

/// Checks the files and directories that a configuration names and that `run` needs to start and to
/// work. It creates nothing.
struct StartRequirements {
    struct Fault {
        let setting: String
        let text: String
        /// True if the fault would be the same on any other machine and for any other user.
        var isCertain = false
        /// True if a gateway of this user does not start on this machine.
        var endsStart = false
    }

    let settings: Settings

    /// Keys and passwords that cannot be read. Their faults do not depend on the user or the
    /// machine.
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
        check("registry.password_file") {
            // Each connection reads it, so the reader of the settings does not.
            guard case .postgres(let postgres) = settings.registry,
                let path = postgres.passwordFile
            else { return }
            _ = try File.read(path, byteCountMax: 4096)
        }
        return faults
    }

    /// Places that do not exist, or that this user may not write to.
    func placeFaults() -> [Fault] {
        var faults: [Fault] = []
        if case .sqlite(let path) = settings.registry { faults += registryFaults(path) }
        for (name, destination) in [
            ("log.access", settings.log.access), ("log.events", settings.log.events),
        ] {
            if case .file(let path) = destination { faults += self.faults(name, path) }
        }
        if let path = settings.capture?.directory { faults += captureFaults(path) }
        if case .path(let directory) = settings.floors.directory,
            let obstacle = FloorLocation.obstacle(in: directory)
        {
            faults.append(
                Fault(
                    setting: "counters.floors_directory",
                    text: "no file can be kept in memory there: \(obstacle)"))
        }
        let directory = settings.limits.temporaryDirectory
        do throws(IOError) {
            // A file without a name, which disappears with the value.
            _ = try TemporaryFile(directory: directory)
            faults += roomFaults("limits.temporary_directory", directory)
        } catch {
            faults.append(
                Fault(
                    setting: "limits.temporary_directory", text: "cannot create a file: \(error)"))
        }
        return faults
    }

    /// The faults of a file that is created if it is missing.
    private func faults(_ setting: String, _ path: String) -> [Fault] {
        let directory = File.directory(of: path)
        if File.isDirectory(path) {
            return [Fault(setting: setting, text: "\(path) is a directory", isCertain: true)]
        }
        if File.exists(path) {
            return File.canChange(path)
                ? roomFaults(setting, directory)
                : [Fault(setting: setting, text: "\(path) cannot be written", endsStart: true)]
        }
        return directoryFaults(setting, directory)
    }

    /// The faults of a directory in which files are to be made.
    private func directoryFaults(_ setting: String, _ directory: String) -> [Fault] {
        guard let obstacle = File.obstacle(inDirectory: directory) else {
            return roomFaults(setting, directory)
        }
        return [
            Fault(
                setting: setting, text: "cannot create a file in \(directory): \(obstacle.text)",
                endsStart: true)
        ]
    }

    /// The fault of a full or nearly full disk.
    private func roomFaults(_ setting: String, _ directory: String) -> [Fault] {
        guard let room = File.room(at: directory) else { return [] }
        let text: String
        if room.byteCount < Self.roomByteCountMin {
            text = "\(room.byteCount >> 10) KiB are free"
        } else if room.fileCount == 0 {
            text = "its file system has no room for more files"
        } else {
            return []
        }
        return [Fault(setting: setting, text: "there is no room in \(directory): \(text)")]
    }

    /// The least free space. The log of SQLite alone grows to 4 MiB; with less than a quarter of it
    /// the first enrolments fail.
    private static let roomByteCountMin = UInt64(1 << 20)

    /// The faults of the directory of captures, which is made if it is missing.
    private func captureFaults(_ path: String) -> [Fault] {
        let problem: String
        if !File.exists(path) {
            let parent = File.directory(of: path)
            guard let obstacle = File.obstacle(inDirectory: parent) else {
                return roomFaults("capture.directory", parent)
            }
            problem = "cannot create a directory in \(parent): \(obstacle.text)"
        } else if !File.canWrite(inDirectory: path) {
            problem = "\(path) is not a writable directory"
        } else if !File.isOnlyOwners(path) {
            problem = "\(path) is open to other users, so nothing is kept: chmod 700 \(path)"
        } else {
            return roomFaults("capture.directory", path)
        }
        return [Fault(setting: "capture.directory", text: problem)]
    }

    private func registryFaults(_ name: String) -> [Fault] {
        // Its files lie beside the file itself, to which the name may be a link.
        let path = File.resolved(name)
        let faults = faults("registry", path)
        guard faults.isEmpty else { return faults }
        let directory = File.directory(of: path)
        // SQLite's log and the gateway's own files lie beside it.
        let faultsBeside = directoryFaults("registry", directory)
        guard faultsBeside.isEmpty else { return faultsBeside }
        // Another user, who once ran the gateway or a command, may have left these behind.
        for suffix in ["-wal", "-shm", ".lock", ".owner", ".counters"]
        where File.exists(path + suffix) {
            let faults = self.faults("registry", path + suffix)
            guard faults.isEmpty else { return faults }
        }
        guard !File.exists(path), Self.holdsBytes(path + "-wal") else { return [] }
        return [
            Fault(
                setting: "registry",
                text: "\(path)-wal is there without its database \(path): bring that back")
        ]
    }

    /// Lost files: a start would make an empty registry in their place, which knows no key.
    func losses() -> [Fault] {
        guard case .sqlite(let path) = settings.registry, !File.exists(path),
            registryFaults(path).isEmpty,
            let left = ["-wal", "-shm", ".owner"].map({ path + $0 }).first(where: File.exists)
        else { return [] }
        return [
            Fault(
                setting: "registry",
                text: "\(path) is gone, but \(left) is there: bring the registry back from a "
                    + "backup; without it every app attests again")
        ]
    }

    /// True if the start will make the missing registry, which is usual for a first start.
    var isRegistryExpected: Bool {
        guard case .sqlite(let path) = settings.registry else { return true }
        return registryFaults(path).isEmpty && losses().isEmpty
    }

    /// True if the file is not empty from SQLite's view: a file of one byte is empty to it.
    private static func holdsBytes(_ path: String) -> Bool {
        do throws(IOError) {
            _ = try File.read(path, byteCountMax: 1)
            return false
        } catch {
            return error.reason == .tooLarge(byteCountMax: 1)
        }
    }

    /// Files with secrets that all users of the machine may read or change. The configuration at
    /// `configurationPath` is among them if it holds a password in clear text.
    func openSecrets(configurationPath: String) -> [Fault] {
        var faults = settings.secretFiles.filter { File.isOpenToOthers($0.path) }.map { file in
            Fault(
                setting: file.setting,
                text: "\(file.path) is open to all users: chmod o-rwx \(file.path)")
        }
        faults += openLibraries + openRegistry
        if File.isOpenToOthers(configurationPath), holdsPassword(configurationPath) {
            faults.append(
                Fault(
                    setting: "configuration",
                    text: "\(configurationPath) holds a password in clear text and is open to all"
                        + " users: chmod o-rwx \(configurationPath)"))
        }
        return faults
    }

    /// The path of the named library, if it is used.
    private var libraryPath: String? { settings.crypto.batches ? settings.crypto.library : nil }

    /// True if all users may replace the code that would be loaded.
    var isLibraryOpen: Bool { !openLibraries.isEmpty }

    /// Libraries that all users may replace: the named one, or another one that it needs. Their
    /// code runs in the gateway.
    private var openLibraries: [Fault] {
        guard let path = libraryPath else { return [] }
        var places: [String] = []
        for file in [path] + MultiBufferLibrary.runtimePaths(beside: path) {
            places += File.placesOpenToChanges(file).filter { !places.contains($0) }
        }
        return places.map {
            Fault(
                setting: "crypto.library",
                text: "\($0) can be changed by all users: chmod o-w \($0)")
        }
    }

    /// The fault of a library that cannot be loaded, as far as can be seen without loading it.
    func libraryFaults() -> [Fault] {
        guard let path = libraryPath, let problem = MultiBufferLibrary.problem(ofFileAt: path)
        else { return [] }
        return [
            Fault(
                setting: "crypto.library",
                text: "\(path): \(problem); signatures are verified one at a time")
        ]
    }

    /// True if the configuration holds a password. It may also have come from the environment or
    /// from another file.
    private func holdsPassword(_ path: String) -> Bool {
        guard let bytes = try? File.read(path, byteCountMax: ConfigurationFile.byteCountMax) else {
            return false
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return settings.passwords.contains { !$0.isEmpty && text.contains($0) }
    }
}
