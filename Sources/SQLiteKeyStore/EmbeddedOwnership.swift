import Attestation
import Bytes
import Crypto
import EventLoop
public import KeyStore
import SQLite

/// The reason why a process may not run embedded counters on a registry.
public enum EmbeddedOwnershipError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another process runs them. `holder` is its own words about itself, empty if it left none.
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

/// The state in which a start finds the embedded counters of the last stop.
public enum KeptState: Sendable {
    /// No gateway has counted on the registry with embedded counters, or one has since counted
    /// elsewhere.
    case none
    case kept(EmbeddedSnapshot)
    /// The counters of the last stop are lost, with the reason in words for the operator.
    case lost(String)

    public var snapshot: EmbeddedSnapshot? {
        if case .kept(let snapshot) = self { snapshot } else { nil }
    }
}

/// The right of one process to run embedded counters on a registry, and the place where they
/// survive a clean stop. It is held for as long as the value lives; a killed process releases it.
///
/// Beside the registry are three files: `.lock`, locked while a gateway runs; `.owner`, which names
/// the running gateway, or holds a token of the last clean stop; and from a stop to the next start
/// `.counters`, the state itself. A state counts only together with the row in the registry that
/// describes it and with its token, in the very file that the token was written to, and a start
/// uses all of them up. So a registry restored from a backup, with those files or without them,
/// brings back no counters, but a new incarnation.
public struct EmbeddedOwnership: ~Copyable {
    private let path: String
    private let lock: FileLock

    private static let tokenByteCount = 16
    /// The version of the form of the row and of the parts.
    private static let form: UInt64 = 1
    private var ownerPath: String { path + ".owner" }
    private var stateFile: EmbeddedStateFile { EmbeddedStateFile(registryPath: path) }

    /// Takes the lock without waiting. The registry must exist.
    public init(registryPath: String) throws(EmbeddedOwnershipError) {
        // Beside the file itself, because a link may lead to it under another name.
        path = File.resolved(registryPath)
        do throws(IOError) {
            lock = try FileLock(path: path + ".lock")
        } catch {
            guard error.reason == .locked else { throw .failed(reason: error.description) }
            throw .held(path: registryPath, holder: Self.holder(path + ".owner"))
        }
    }

    /// The gateway that counts on the registry in memory, in its own words: one that runs, or one
    /// that was killed. Nil after a clean stop, and for a registry that none has used so. Takes no
    /// lock.
    public static func runner(registryPath: String) -> String? {
        let words = holder(File.resolved(registryPath) + ".owner")
        return words.isEmpty ? nil : words
    }

    private static func holder(_ ownerPath: String) -> String {
        guard let bytes = try? File.read(ownerPath, byteCountMax: 256) else { return "" }
        let line = words(bytes)
        return line.hasPrefix("process ") ? line : ""
    }

    private static func words(_ owner: [UInt8]) -> String {
        String(decoding: owner.filter { $0 >= 0x20 && $0 < 0x7F }, as: UTF8.self)
    }

    /// Has the next start with embedded counters begin another incarnation: for a gateway that
    /// counts elsewhere, because the state of the last clean stop does not know the counters that
    /// it accepts. While another gateway runs embedded counters, there is no kept state.
    public static func forgetState(registryPath: String) throws(StoreError) {
        let path = File.resolved(registryPath)
        guard File.identity(path + ".owner") != nil,
            let ownership = try? EmbeddedOwnership(registryPath: registryPath)
        else { return }
        ownership.stateFile.remove()
        do throws(IOError) {
            try File.remove(ownership.ownerPath)
        } catch {
            throw StoreError("registry: \(error)")
        }
    }

    /// The state of the last clean stop. It is lost after any other end, or while another process
    /// holds the write lock. Its description is deleted durably before it is returned: call this
    /// before any request is served.
    public func takeState() throws(StoreError) -> KeptState {
        var isLocked = false
        let row = try withTables(busyMillisecondsMax: 1000) { tables throws(SQLiteError) in
            // No other process writes it, because this one has ``lock``.
            guard let row = try tables.embeddedState() else { return [UInt8]?.none }
            do throws(SQLiteError) {
                try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                    try tables.deleteEmbeddedState()
                }
                return row
            } catch {
                // Another incarnation is safe, and the remaining row has no owner from now on.
                guard error.isBusy else { throw error }
                isLocked = true
                return nil
            }
        }
        let identity = File.identity(ownerPath)
        let owner = (try? File.read(ownerPath, byteCountMax: 4096)) ?? []
        do throws(IOError) {
            try File.write(
                ownerPath, Array("process \(HostSystem.processID)\n".utf8), mode: 0o644)
        } catch {
            throw StoreError("registry: \(error)")
        }
        let state = state(row, owner: owner, identity: identity)
        // Also the file that an interrupted stop has left.
        stateFile.remove()
        return isLocked ? .lost("another process holds the registry's write lock") : state
    }

    private func state(_ row: [UInt8]?, owner: [UInt8], identity: [UInt64]?) -> KeptState {
        guard let row else { return Self.gap(owner, isFirst: identity == nil) }
        let isOther = "they are damaged, or of another version of the program"
        var reader = ByteReader(row.span)
        guard let token = reader.readSpan(byteCount: Self.tokenByteCount)?.array,
            reader.readInteger(byteCount: 8) == Self.form,
            let incarnation = reader.readInteger(byteCount: 8),
            let base = reader.readInteger(byteCount: 8),
            let stoppedAt = reader.readInteger(byteCount: 8),
            let boot0 = reader.readInteger(byteCount: 8),
            let boot1 = reader.readInteger(byteCount: 8),
            let inode = reader.readInteger(byteCount: 8),
            let changedAt = reader.readInteger(byteCount: 8),
            let parts = Self.parts(&reader),
            let digest = reader.readSpan(byteCount: Bytes32.byteCount)?.array, reader.isAtEnd,
            digest == SHA256.hash(Array(row.dropLast(Bytes32.byteCount))).array
        else { return .lost(isOther) }
        guard let identity else {
            return .lost(
                "\(ownerPath) is gone: a gateway has counted in Redis since, or it was removed"
            )
        }
        guard [inode, changedAt] == identity, owner == Self.mark(token) else {
            return .lost(
                "the registry, or a file beside it, is a copy from before the last stop")
        }
        let clock = EmbeddedClock(
            base: Int64(bitPattern: base), boot: Bytes16(word0: boot0, word1: boot1),
            nowMilliseconds: Int64(bitPattern: stoppedAt))
        do throws(IOError) {
            return .kept(try stateFile.take(Incarnation(incarnation), clock, parts))
        } catch {
            return .lost("\(error)")
        }
    }

    /// The reason why no row describes a state.
    private static func gap(_ owner: [UInt8], isFirst: Bool) -> KeptState {
        if isFirst { return .none }
        let words = words(owner)
        if words.hasPrefix(unkeptPrefix) {
            return .lost(
                "the last stop could not keep them: " + words.dropFirst(unkeptPrefix.count))
        }
        return .lost(
            words.hasPrefix("process ")
                ? "the gateway before (\(words)) was killed, or crashed, or could not keep them"
                : "the last stop was cut off, or the registry is a copy from before it")
    }

    private static func parts(_ reader: inout ByteReader) -> [EmbeddedStateFile.Part]? {
        guard let count = reader.readInteger(byteCount: 8), count <= partCountMax else {
            return nil
        }
        var parts: [EmbeddedStateFile.Part] = []
        for _ in 0..<count {
            guard let byteCount = reader.readInteger(byteCount: 8), byteCount <= UInt64(Int32.max),
                let bytes = reader.readSpan(byteCount: Bytes32.byteCount),
                let digest = Bytes32(bytes)
            else { return nil }
            parts.append(EmbeddedStateFile.Part(byteCount: Int(byteCount), digest: digest))
        }
        return parts
    }

    /// The most parts: far more than there are shards.
    private static let partCountMax: UInt64 = 1024

    /// Keeps the state for the next start: the last action of a gateway, when it serves no request
    /// any more. Returns the length of the state in bytes. If this fails, the next start gets
    /// another incarnation, and says why.
    @discardableResult
    public func storeState(_ snapshot: EmbeddedSnapshot) throws(StoreError) -> Int {
        do throws(StoreError) {
            return try store(snapshot)
        } catch {
            stateFile.remove()
            let words = Self.unkeptPrefix + error.description.prefix(Self.reasonCountMax)
            // On a full disk the next start may only know that something failed.
            try? File.write(ownerPath, Array((words + "\n").utf8), mode: 0o644)
            throw error
        }
    }

    private static let unkeptPrefix = "stopped, counters not kept: "
    private static let reasonCountMax = 1000

    private func store(_ snapshot: EmbeddedSnapshot) throws(StoreError) -> Int {
        guard let boot = snapshot.clock.boot else {
            throw StoreError("the system does not tell one boot from another")
        }
        // First of all: without the row, which is written last, the file means nothing.
        let parts = try stateFile.write(snapshot)
        let token = RandomBytes.bytes(Self.tokenByteCount)
        do throws(IOError) {
            try File.write(ownerPath, Self.mark(token), mode: 0o644)
        } catch {
            throw StoreError("registry: \(error)")
        }
        guard let identity = File.identity(ownerPath) else {
            throw StoreError("registry: \(ownerPath) is gone")
        }
        var row = token
        let words =
            [
                Self.form, snapshot.incarnation.value, UInt64(bitPattern: snapshot.clock.base),
                UInt64(bitPattern: snapshot.clock.nowMilliseconds), boot.word0, boot.word1,
            ] + identity + [UInt64(parts.count)]
        for word in words { row.append(bigEndian: word) }
        for part in parts {
            row.append(bigEndian: UInt64(part.byteCount))
            row += part.digest.array
        }
        row += SHA256.hash(row).array
        try withTables { tables throws(SQLiteError) in
            try tables.connection.transaction(.immediate) { () throws(SQLiteError) in
                try tables.deleteEmbeddedState()
                try tables.insertEmbeddedState(row)
            }
        }
        return parts.reduce(0) { $0 + $1.byteCount }
    }

    private static func mark(_ token: [UInt8]) -> [UInt8] {
        Array("stopped \(Hex.encode(token))\n".utf8)
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
    /// The row of the last clean stop.
    func embeddedState() throws(SQLiteError) -> [UInt8]? {
        let select = try connection.prepare("SELECT bytes FROM embedded_state")
        return try select.step() ? select.blob(0) ?? [] : nil
    }

    func deleteEmbeddedState() throws(SQLiteError) {
        try connection.execute("DELETE FROM embedded_state")
    }

    func insertEmbeddedState(_ row: [UInt8]) throws(SQLiteError) {
        let insert = try connection.prepare("INSERT INTO embedded_state VALUES (0, ?)")
        try insert.bind(1, blob: row)
        try insert.run()
    }
}
