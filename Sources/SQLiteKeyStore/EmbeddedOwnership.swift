import AppAttest
import Bytes
import Crypto
import EventLoop
public import KeyStore
import SQLite

/// Why a process may not run embedded counters on a registry.
public enum EmbeddedOwnershipError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process runs them; its own words about itself, empty if it left none.
    case held(path: String, holder: String)
    case failed(reason: String)

    public var description: String {
        switch self {
        case .held(let path, let holder):
            "registry \(path): another gateway"
                + (holder.isEmpty ? "" : " (\(holder))")
                + " uses it with embedded counters; several gateways need"
                + " `counters: { redis: ... }`"
        case .failed(let reason): "registry: \(reason)"
        }
    }
}

/// The right of one process to run embedded counters on a registry, and the place where they
/// survive a clean stop. Held for as long as the value lives; a killed process lets go.
///
/// Beside the registry lie `.lock`, locked while a gateway runs, and `.owner`: who runs, or a token
/// of the last clean stop. A state counts only together with its token, in the very file that it
/// was written to, and both are used up by a start: a registry restored from a backup, with that
/// file or without it, brings back no counters, but a new incarnation.
public struct EmbeddedOwnership: ~Copyable {
    private let path: String
    private let lock: FileLock

    private static let tokenByteCount = 16
    private var ownerPath: String { path + ".owner" }

    /// Takes the lock without waiting. The registry must exist.
    public init(registryPath: String) throws(EmbeddedOwnershipError) {
        // Beside the file itself: it may have a link for another name.
        path = File.resolved(registryPath)
        do throws(IOError) {
            lock = try FileLock(path: path + ".lock")
        } catch {
            guard error.reason == .locked else { throw .failed(reason: error.description) }
            throw .held(path: registryPath, holder: Self.holder(path + ".owner"))
        }
    }

    /// Who counts on the registry in memory, in its own words: a gateway that runs, or one that was
    /// killed. Nil after a clean stop, and for a registry that none has used so. Takes no lock.
    public static func runner(registryPath: String) -> String? {
        let words = holder(File.resolved(registryPath) + ".owner")
        return words.isEmpty ? nil : words
    }

    private static func holder(_ ownerPath: String) -> String {
        guard let bytes = try? File.read(ownerPath, byteCountMax: 256) else { return "" }
        let line = String(decoding: bytes.filter { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self)
        return line.hasPrefix("process ") ? line : ""
    }

    /// Has the next start with embedded counters begin another incarnation: for a gateway that
    /// counts elsewhere, because what the last clean stop kept does not know what that accepts.
    /// While another gateway runs embedded counters, nothing was kept.
    public static func forgetState(registryPath: String) throws(StoreError) {
        let path = File.resolved(registryPath)
        guard File.identity(path + ".owner") != nil,
            let ownership = try? EmbeddedOwnership(registryPath: registryPath)
        else { return }
        do throws(IOError) {
            try File.remove(ownership.ownerPath)
        } catch {
            throw StoreError("registry: \(error)")
        }
    }

    /// The state of the last clean stop, nil after any other end, or while another process holds
    /// the write lock. It is deleted durably before it is returned: call this before anything is
    /// served.
    public func takeState() throws(StoreError) -> EmbeddedSnapshot? {
        let stored = try withTables(busyMillisecondsMax: 1000) { tables throws(SQLiteError) in
            // Nobody else writes it: this process has ``lock``.
            let parts = try tables.embeddedState()
            guard !parts.isEmpty else { return parts }
            do throws(SQLiteError) {
                try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                    try tables.deleteEmbeddedState()
                }
                return parts
            } catch {
                // Another incarnation is safe; what stays has no owner from now on.
                guard error.isBusy else { throw error }
                return []
            }
        }
        let identity = File.identity(ownerPath)
        let owner = (try? File.read(ownerPath, byteCountMax: 256)) ?? []
        do throws(IOError) {
            try File.write(
                ownerPath, Array("process \(HostSystem.processID)\n".utf8), mode: 0o644)
        } catch {
            throw StoreError("registry: \(error)")
        }
        guard let header = stored.first else { return nil }
        var reader = ByteReader(header.span)
        guard let token = reader.readSpan(byteCount: Self.tokenByteCount)?.array,
            let incarnation = reader.readInteger(byteCount: 8),
            let partCount = reader.readInteger(byteCount: 8),
            let base = reader.readInteger(byteCount: 8),
            let stoppedAt = reader.readInteger(byteCount: 8),
            let boot0 = reader.readInteger(byteCount: 8),
            let boot1 = reader.readInteger(byteCount: 8),
            let inode = reader.readInteger(byteCount: 8),
            let changedAt = reader.readInteger(byteCount: 8), [inode, changedAt] == identity,
            let digest = reader.readSpan(byteCount: Bytes32.byteCount)?.array,
            reader.isAtEnd, partCount == UInt64(stored.count - 1), owner == Self.mark(token),
            // A counter that is far too high would lock its device out.
            digest == Self.digest(header.dropLast(Bytes32.byteCount), stored.dropFirst())
        else { return nil }
        let clock = EmbeddedClock(
            base: Int64(bitPattern: base), boot: Bytes16(word0: boot0, word1: boot1),
            nowMilliseconds: Int64(bitPattern: stoppedAt))
        return EmbeddedSnapshot(
            incarnation: Incarnation(incarnation), clock: clock, parts: Array(stored.dropFirst()))
    }

    /// Keeps the state for the next start: the last thing a gateway does, when nothing is served
    /// any more. If it fails, the next start gets another incarnation.
    public func storeState(_ snapshot: EmbeddedSnapshot) throws(StoreError) {
        // Without it nobody could tell whether the clock goes on.
        guard let boot = snapshot.clock.boot else { return }
        let token = RandomBytes.bytes(Self.tokenByteCount)
        do throws(IOError) {
            try File.write(ownerPath, Self.mark(token), mode: 0o644)
        } catch {
            throw StoreError("registry: \(error)")
        }
        guard let identity = File.identity(ownerPath) else { return }
        var header = token
        let words =
            [
                snapshot.incarnation.value, UInt64(snapshot.parts.count),
                UInt64(bitPattern: snapshot.clock.base),
                UInt64(bitPattern: snapshot.clock.nowMilliseconds), boot.word0, boot.word1,
            ] + identity
        for word in words {
            for shift in stride(from: UInt64(56), through: 0, by: -8) {
                header.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        header += Self.digest(header[...], snapshot.parts[...])
        let parts = [header] + snapshot.parts
        try withTables { tables throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                try tables.deleteEmbeddedState()
                try tables.insertEmbeddedState(parts)
            }
        }
    }

    private static func mark(_ token: [UInt8]) -> [UInt8] {
        Array("stopped \(Hex.encode(token))\n".utf8)
    }

    /// SQLite notices no damage to what a row holds.
    private static func digest(_ header: ArraySlice<UInt8>, _ parts: ArraySlice<[UInt8]>) -> [UInt8]
    {
        var stream = SHA256Stream()
        stream.update(header.span)
        for part in parts { stream.update(part.span) }
        return stream.finish().array
    }

    private func withTables<Value>(
        busyMillisecondsMax: Int32? = nil, _ body: (RegistryTables) throws(SQLiteError) -> Value
    ) throws(StoreError) -> Value {
        let tables: RegistryTables
        var options = Connection.Options()
        if let busyMillisecondsMax { options.busyMillisecondsMax = busyMillisecondsMax }
        do throws(RegistryOpenError) {
            tables = try RegistryFile.open(path: path, createsIfMissing: false, options: options)
        } catch {
            throw StoreError(error)
        }
        do throws(SQLiteError) { return try body(tables) } catch { throw StoreError(error) }
    }
}

extension RegistryTables {
    /// The stored parts in order, empty if there are none.
    func embeddedState() throws(SQLiteError) -> [[UInt8]] {
        let select = try connection.prepare("SELECT bytes FROM embedded_state ORDER BY part")
        var parts: [[UInt8]] = []
        while try select.step() { parts.append(select.blob(0) ?? []) }
        return parts
    }

    func deleteEmbeddedState() throws(SQLiteError) {
        try connection.execute("DELETE FROM embedded_state")
    }

    func insertEmbeddedState(_ parts: [[UInt8]]) throws(SQLiteError) {
        let insert = try connection.prepare("INSERT INTO embedded_state VALUES (?, ?)")
        for (part, bytes) in parts.enumerated() {
            try insert.bind(1, Int64(part))
            try insert.bind(2, blob: bytes)
            try insert.run()
        }
    }
}
