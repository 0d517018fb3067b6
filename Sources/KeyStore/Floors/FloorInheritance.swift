public import Attestation
import EventLoop

/// Accepted counters in the files that processes have left for a registry, which may not have them
/// yet.
///
/// A process that lives has its files locked; a file without a lock belongs to a process that has
/// ended.
public struct FloorInheritance: Sendable {
    /// The floors. A key may stand in several files: its highest counter counts.
    public private(set) var floors: [(keyID: KeyID, counter: UInt32)] = []
    /// The files whose floors are missing here.
    public private(set) var losses: [FloorFileError] = []
    /// The files, locked so that no other process takes them over, too.
    private(set) var files: [RegularFile] = []
    private let location: FloorLocation

    private init(_ location: FloorLocation) { self.location = location }

    /// Takes over the files of processes that have ended. A file that was read and is no file of
    /// floors is renamed, and kept for an operator to look at. A file that could not be read stays:
    /// this process may be able to read it later, or another process may.
    ///
    /// - Parameters:
    ///   - own: the paths of files of this process, which are not looked at.
    ///   - readsLiving: reads the files of processes that live, too.
    init(takingOver location: FloorLocation, except own: [String], readsLiving: Bool) {
        self.init(location)
        var isWhole = false
        while !isWhole {
            isWhole = visitAll { inheritance, path, base, isShared in
                guard !own.contains(path), !inheritance.files.contains(where: { $0.path == path })
                else { return true }
                if FloorFileName.isDraftPath(path, beside: base) {
                    inheritance.removeDraft(path)
                    return true
                }
                guard FloorFileName.isPath(path, beside: base) else { return true }
                let isThere = inheritance.takeOver(
                    path, isShared: isShared, readsLiving: readsLiving)
                return isThere || !readsLiving
            }
        }
    }

    /// The floors in all files, also those of processes that live.
    public static func reading(_ location: FloorLocation) -> FloorInheritance {
        while true {
            var inheritance = FloorInheritance(location)
            let isWhole = inheritance.visitAll { inheritance, path, base, isShared in
                !FloorFileName.isPath(path, beside: base)
                    || inheritance.read(path, isShared: isShared)
            }
            if isWhole { return inheritance }
        }
    }

    /// Calls `visit` for each path that begins with one of ``bases``. False if `visit` returned
    /// false for one: that file is gone, because another process has taken it over and has its
    /// floors in a file of its own, which may have been passed by.
    private mutating func visitAll(
        _ visit: (
            _ inheritance: inout FloorInheritance, _ path: String, _ base: String, _ isShared: Bool
        ) -> Bool
    ) -> Bool {
        var isWhole = true
        for (base, isShared) in bases {
            for path in names(base) where !visit(&self, path, base, isShared) { isWhole = false }
        }
        return isWhole
    }

    /// To be called once all of ``floors`` are on the disk in another file. Returns the files that
    /// could not be removed, still locked.
    func remove() -> [RegularFile] {
        files.filter { file in
            guard file.isInPlace else { return false }
            do throws(IOError) {
                try File.remove(file.path)
                return false
            } catch {
                return error.reason != .notFound
            }
        }
    }

    private mutating func note(_ loss: FloorFileError) {
        if !losses.contains(loss) { losses.append(loss) }
    }

    /// The bases of the files' names, each with a mark if other users may write to its directory.
    private var bases: [(base: String, isShared: Bool)] {
        [(location.diskBase, false)] + location.memoryBases.map { ($0, true) }
    }

    private mutating func names(_ base: String) -> [String] {
        do throws(IOError) {
            return try File.namesBeginning(base).sorted()
        } catch {
            // A directory in memory need not be there. A process without a descriptor looks again
            // later; what is to be found stays.
            if error.reason != .outOfDescriptors,
                error.reason != .notFound || base == location.diskBase
            {
                note(.unreadable(error))
            }
            return []
        }
    }

    /// Removes a draft that a killed start has left; the floors that it had read are still in the
    /// files.
    private func removeDraft(_ path: String) {
        guard let file = try? RegularFile(path), (try? file.lock()) != nil else { return }
        try? File.remove(path)
    }

    /// Takes over a file. False if it does not exist any more.
    private mutating func takeOver(_ path: String, isShared: Bool, readsLiving: Bool) -> Bool {
        do throws(FloorFileError) {
            guard let file = try open(path, isShared: isShared) else { return false }
            do throws(IOError) {
                try file.lock()
            } catch {
                // The other process lives, or was faster.
                guard error.reason == .locked else { throw .unreadable(error) }
                if readsLiving { floors += try contents(of: file) }
                return true
            }
            // A process that lives has put another in its place and let go of this one.
            guard file.isInPlace else { return false }
            floors += try contents(of: file)
            files.append(file)
        } catch {
            note(error)
            if case .foreign = error { try? File.rename(path, to: path + ".unread") }
        }
        return true
    }

    /// Reads a file. False if it does not exist any more.
    private mutating func read(_ path: String, isShared: Bool) -> Bool {
        do throws(FloorFileError) {
            guard let file = try open(path, isShared: isShared) else { return false }
            floors += try contents(of: file)
        } catch {
            note(error)
        }
        return true
    }

    /// Opens a file. Nil if it does not exist any more.
    private func open(
        _ path: String, isShared: Bool
    ) throws(FloorFileError) -> RegularFile? {
        let file: RegularFile
        do throws(IOError) {
            file = try RegularFile(path)
        } catch {
            if error.reason == .notFound { return nil }
            throw .unreadable(error)
        }
        // A user with fewer rights could write floors that are too high, which would lock a device
        // out.
        if isShared, let rights = location.rights, !rights.admit(file.rights) {
            throw .untrusted(path: path)
        }
        return file
    }

    private func contents(
        of file: RegularFile
    ) throws(FloorFileError) -> [(keyID: KeyID, counter: UInt32)] {
        let bytes: [UInt8]
        do throws(IOError) {
            bytes = try file.read(byteCountMax: FloorForm.byteCountMax)
        } catch {
            throw .unreadable(error)
        }
        return try FloorForm.floors(in: bytes, path: file.path)
    }
}
