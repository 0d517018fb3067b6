import Bytes
import EventLoop

/// A request body held back until it is verified: in memory first, then in an unlinked file.
struct HeldBody: ~Copyable {
    private(set) var memory = ByteBuffer()
    private var file: TemporaryFile?
    private(set) var isInMemory = true
    private(set) var byteCount = 0

    /// Storage that is kept for the next body.
    static let keptByteCountMax = 8 * 1024

    init() {}

    /// Keeps `bytes`; beyond `memoryByteCountMax` they go to a file in `directory`.
    mutating func append(
        _ bytes: Span<UInt8>, memoryByteCountMax: Int, directory: String
    ) throws(IOError) {
        if isInMemory, memory.count + bytes.count > memoryByteCountMax {
            var fresh = try TemporaryFile(directory: directory)
            try fresh.append(memory.readable)
            memory.release()
            file = consume fresh
            isInMemory = false
        }
        if isInMemory {
            memory.append(bytes)
        } else {
            try file?.append(bytes)
        }
        byteCount += bytes.count
    }

    /// Gives the body to `use` where it is held in memory.
    borrowing func withMemory<Result, Failure: Error>(
        _ use: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try use(memory.readable)
    }

    /// Reads up to `atMost` bytes of the file from `offset` on to the end of `buffer`.
    func read(at offset: Int, into buffer: inout ByteBuffer, atMost: Int) throws(IOError) -> Int {
        try file?.read(at: offset, into: &buffer, atMost: atMost) ?? 0
    }

    mutating func reset() {
        memory.clear(keepingAtMost: Self.keptByteCountMax)
        file = nil
        isInMemory = true
        byteCount = 0
    }
}
