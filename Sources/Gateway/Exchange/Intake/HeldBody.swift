import Bytes
import EventLoop
import TLS

/// A request body that is held back until the request is verified: first in memory, then in an
/// unlinked file.
///
/// The file is written in large pieces, however small the pieces are in which the body comes.
struct HeldBody: ~Copyable {
    /// The body, if it is in memory.
    private var memory = ByteBuffer()
    /// Lends memory to larger bodies.
    private let storage: StoragePool?
    /// Makes the files for bodies that are too large for memory.
    private let files: BodyFiles?
    private var file: BodyFile?
    private(set) var isInMemory = true
    private(set) var byteCount = 0

    /// The bytes of storage that are kept for the next body.
    static let keptByteCountMax = 8 * 1024
    /// A body whose first piece is no larger than this takes no more memory than it needs.
    private static let ownByteCountMax = 4 * 1024

    /// Without `files`, the body stays in memory.
    init(storage: StoragePool? = nil, files: BodyFiles? = nil) {
        self.storage = storage
        self.files = files
    }

    init(_ supply: BodySupply) { self.init(storage: supply.storage, files: supply.files) }

    deinit { file?.close() }

    var memoryCapacity: Int { memory.capacity }

    /// Keeps `bytes`. Beyond `memoryByteCountMax` the body goes to a file in `directory`, each of
    /// whose jobs may take `patience` nanoseconds.
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

    /// True if so many bytes wait to be written that the client has to wait.
    var isBehind: Bool { file?.isBehind == true }

    /// Ends the body. True if it is where it will be read from; otherwise the owner is told once it
    /// is.
    func end() -> Bool { file?.end() ?? true }

    /// Has `owner` told about the file from now on.
    func tell(_ owner: any HeldBodyOwner) { file?.owner = owner }

    /// Gives the body to `use` if it is held in memory.
    borrowing func withMemory<Result, Failure: Error>(
        _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try use(memory.readable)
    }

    /// How many bytes of a body in a file can be read from `offset` without a wait. If there are
    /// none, the owner is told once there are.
    func bytesAtHand(from offset: Int) -> Int { file?.bytesAtHand(from: offset) ?? 0 }

    /// Appends up to `atMost` bytes from `offset` to `buffer`. They have to be at hand.
    func read(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int {
        try file?.read(at: offset, into: &buffer, atMost: atMost) ?? 0
    }

    /// Sends up to `byteCountMax` bytes at hand from `offset`, straight out of the file. Nil if
    /// they have to be read and written instead: from memory, with TLS, or after a failure, which
    /// reading and writing then report.
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
