import Bytes
import EventLoop
import TLS

/// A request body held back until it is verified: in memory first, then in an unlinked file.
///
/// However small the pieces in which it comes, the file is written in large ones.
struct HeldBody: ~Copyable {
    /// The body, or its end that the file does not have yet.
    private(set) var memory = ByteBuffer()
    /// Lends memory to larger bodies.
    private let storage: StoragePool?
    private var file: TemporaryFile?
    private var fileByteCount = 0
    private(set) var isInMemory = true
    private(set) var byteCount = 0

    /// Storage that is kept for the next body.
    static let keptByteCountMax = 8 * 1024
    /// What comes in pieces of this size at most takes no more memory than it needs.
    private static let ownByteCountMax = 4 * 1024
    /// What is written to the file at once.
    private static let writeByteCount = 16 * 1024

    init(storage: StoragePool? = nil) { self.storage = storage }

    /// Keeps `bytes`; beyond `memoryByteCountMax` they go to a file in `directory`, where that gets
    /// a descriptor below `descriptorMax`.
    mutating func append(
        _ bytes: Span<UInt8>, memoryByteCountMax: Int, directory: String,
        descriptorMax: Int32 = .max
    ) throws(IOError) {
        if isInMemory, memory.count + bytes.count > memoryByteCountMax {
            var fresh = try TemporaryFile(directory: directory, descriptorMax: descriptorMax)
            try fresh.append(memory.readable)
            memory.clear(keepingAtMost: Self.writeByteCount)
            fileByteCount = fresh.byteCount
            file = consume fresh
            isInMemory = false
        }
        if isInMemory {
            if memory.capacity == 0 {
                memory = ByteBuffer(pool: bytes.count > Self.ownByteCountMax ? storage : nil)
            }
            memory.append(bytes)
        } else {
            try appendToFile(bytes)
        }
        byteCount += bytes.count
    }

    private mutating func appendToFile(_ bytes: Span<UInt8>) throws(IOError) {
        guard memory.count + bytes.count >= Self.writeByteCount else {
            return memory.append(bytes)
        }
        // After an error it is of no use, and stays away.
        guard var file = file.take() else { return }
        try file.append(memory.readable)
        memory.clear()
        if bytes.count < Self.writeByteCount {
            memory.append(bytes)
        } else {
            try file.append(bytes)
        }
        fileByteCount = file.byteCount
        self.file = consume file
    }

    /// Gives the body to `use` where it is held in memory.
    borrowing func withMemory<Result, Failure: Error>(
        _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try use(memory.readable)
    }

    /// Reads up to `atMost` bytes of a body that is not in memory from `offset` on to the end of
    /// `buffer`.
    func read(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int {
        if offset < fileByteCount {
            let count = min(atMost, fileByteCount - offset)
            return try file?.read(at: offset, into: &buffer, atMost: count) ?? 0
        }
        let rest = memory.readable.extracting((offset - fileByteCount)...)
        let count = min(atMost, rest.count)
        buffer.append(rest.extracting(0..<count))
        return count
    }

    /// Sends up to `byteCountMax` bytes from `offset` on, straight out of the file. Nil where they
    /// cannot go so, and have to be read: in memory, for TLS, or after a failure, which reading and
    /// writing them tells.
    borrowing func send(
        from offset: Int, to transport: Transport, atMost byteCountMax: Int
    ) -> WriteOutcome? {
        guard !transport.isTLS, offset < fileByteCount else { return nil }
        let count = min(byteCountMax, fileByteCount - offset)
        switch file?.send(from: offset, atMost: count, to: transport.descriptor) {
        case .bytes(0), .failed, nil: return nil
        case let outcome?: return outcome
        }
    }

    mutating func reset() {
        memory.clear(keepingAtMost: Self.keptByteCountMax)
        file = nil
        fileByteCount = 0
        isInMemory = true
        byteCount = 0
    }
}
