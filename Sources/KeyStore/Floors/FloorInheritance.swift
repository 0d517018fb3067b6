public import AppAttest
public import EventLoop

/// Accepted counters that processes have left beside a registry: what it may not have yet.
///
/// A process that lives has its file locked; what nobody has locked is of one that has ended.
public struct FloorInheritance {
    /// A key may stand in several files: its highest counter counts.
    public private(set) var floors: [(keyID: KeyID, counter: UInt32)] = []
    /// What could not be read.
    public private(set) var losses: [FloorFileError] = []
    /// Locked, so that no other process takes them, too.
    private(set) var files: [RegularFile] = []

    private init() {}

    /// Takes over what processes that have ended left beside `base`. What holds something else is
    /// renamed, and kept for whoever knows what it is.
    init(takingOver base: String) {
        for path in names(base) {
            if FloorFile.isPath(path, beside: base + FloorFile.draftSuffix) {
                removeDraft(path)
            } else if FloorFile.isPath(path, beside: base) {
                takeOver(path)
            }
        }
    }

    /// All that lies beside `base`, also of processes that live.
    public static func reading(beside base: String) -> FloorInheritance {
        while true {
            var inheritance = FloorInheritance()
            var isWhole = true
            for path in inheritance.names(base) where FloorFile.isPath(path, beside: base) {
                // Gone: a process that has just started has it in a file of its own.
                if !inheritance.read(path) { isWhole = false }
            }
            if isWhole { return inheritance }
        }
    }

    /// To be called once all of ``floors`` are in another file.
    func remove() {
        for file in files { try? File.remove(file.path) }
    }

    private mutating func names(_ base: String) -> [String] {
        do throws(IOError) {
            return try File.namesBeginning(base).sorted()
        } catch {
            losses.append(.unreadable(error))
            return []
        }
    }

    /// A start that was killed has left it; what it had read is still in the files.
    private func removeDraft(_ path: String) {
        guard let file = try? RegularFile(path), (try? file.lock()) != nil else { return }
        try? File.remove(path)
    }

    private mutating func takeOver(_ path: String) {
        do throws(FloorFileError) {
            let file = try open(path)
            do throws(IOError) { try file.lock() } catch { throw .unreadable(error) }
            floors += try contents(of: file)
            files.append(file)
        } catch {
            // The other process lives, or was faster.
            guard !error.isAbout(.locked), !error.isAbout(.notFound) else { return }
            losses.append(error)
            try? File.rename(path, to: path + ".unread")
        }
    }

    /// False if there is nothing any more.
    private mutating func read(_ path: String) -> Bool {
        do throws(FloorFileError) {
            floors += try contents(of: try open(path))
        } catch {
            if error.isAbout(.notFound) { return false }
            losses.append(error)
        }
        return true
    }

    private func open(_ path: String) throws(FloorFileError) -> RegularFile {
        do throws(IOError) { return try RegularFile(path) } catch { throw .unreadable(error) }
    }

    private func contents(
        of file: RegularFile
    ) throws(FloorFileError) -> [(keyID: KeyID, counter: UInt32)] {
        let bytes: [UInt8]
        do throws(IOError) {
            bytes = try file.read(byteCountMax: FloorFile.byteCountMax)
        } catch {
            throw .unreadable(error)
        }
        return try FloorFile.floors(in: bytes, path: file.path)
    }
}

extension FloorFileError {
    fileprivate func isAbout(_ reason: IOError.Reason) -> Bool {
        if case .unreadable(let error) = self { error.reason == reason } else { false }
    }
}

/// Why what lies at a path is not taken for floors.
public enum FloorFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case unreadable(IOError)
    /// No file of this gateway, or that of another version.
    case foreign(path: String)

    public var description: String {
        switch self {
        case .unreadable(let error): error.description
        case .foreign(let path): "\(path): is another kind of file, or comes from another version"
        }
    }
}
