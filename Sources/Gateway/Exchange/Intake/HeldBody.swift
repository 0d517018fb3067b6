import Bytes
import EventLoop
import TLS

/// A request body held back until it is verified: in memory first, then in an unlinked file.
///
/// However small the pieces in which it comes, the file is written in large ones.
struct HeldBody: ~Copyable {
    /// The body, if it is in memory.
    private var memory = ByteBuffer()
    /// Lends memory to larger bodies.
    private let storage: StoragePool?
    /// Makes files for those that memory is not for.
    private let files: BodyFiles?
    private var file: BodyFile?
    private(set) var isInMemory = true
    private(set) var byteCount = 0

    /// Storage that is kept for the next body.
    static let keptByteCountMax = 8 * 1024
    /// What comes in pieces of this size at most takes no more memory than it needs.
    private static let ownByteCountMax = 4 * 1024

    /// Without `files` it stays in memory.
    init(storage: StoragePool? = nil, files: BodyFiles? = nil) {
        self.storage = storage
        self.files = files
    }

    deinit { file?.close() }

    var memoryCapacity: Int { memory.capacity }

    /// Keeps `bytes`; beyond `memoryByteCountMax` they go to a file in `directory`, each of whose
    /// jobs may take `patience` nanoseconds.
    mutating func append(
        _ bytes: Span<UInt8>, memoryByteCountMax: Int, directory: String = "",
        patience: UInt64 = 0
    ) throws(IOError) {
        if isInMemory, let files, memory.count + bytes.count > memoryByteCountMax {
            let fresh = try files.make(in: directory, patience: patience)
            file = fresh
            isInMemory = false
            if !memory.isEmpty { try fresh.append(memory.readable) }
            memory.release()
        }
        if let file {
            try file.append(bytes)
        } else {
            if memory.capacity == 0 {
                memory = ByteBuffer(pool: bytes.count > Self.ownByteCountMax ? storage : nil)
            }
            memory.append(bytes)
        }
        byteCount += bytes.count
    }

    /// Whether so much waits to be written that the client has to.
    var isBehind: Bool { file?.isBehind == true }

    /// Whether the body, of which no more comes, is where it will be read from. Otherwise the owner
    /// is told when it is.
    func end() -> Bool { file?.end() ?? true }

    /// Tells `owner` from now on how the file fares.
    func tell(_ owner: any HeldBodyOwner) { file?.owner = owner }

    /// Gives the body to `use` where it is held in memory.
    borrowing func withMemory<Result, Failure: Error>(
        _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try use(memory.readable)
    }

    /// How many bytes of a body that is not in memory can be had from `offset` on without a wait.
    /// If there are none, the owner is told when there are.
    func bytesAtHand(from offset: Int) -> Int { file?.bytesAtHand(from: offset) ?? 0 }

    /// Appends up to `atMost` bytes from `offset` on, which are at hand, to `buffer`.
    func read(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int {
        try file?.read(at: offset, into: &buffer, atMost: atMost) ?? 0
    }

    /// Sends up to `byteCountMax` bytes from `offset` on, which are at hand, straight out of the
    /// file. Nil where they cannot go so, and have to be read: in memory, for TLS, or after a
    /// failure, which reading and writing them tells.
    borrowing func send(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? {
        guard !transport.isTLS, let file else { return nil }
        switch file.send(from: offset, atMost: byteCountMax, to: transport.descriptor) {
        case .bytes(0), .failed, nil: return nil
        case let outcome?: return outcome
        }
    }

    mutating func reset() {
        memory.clear(keepingAtMost: Self.keptByteCountMax)
        file?.close()
        file = nil
        isInMemory = true
        byteCount = 0
    }
}
