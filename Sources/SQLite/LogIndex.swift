/// The state of a log as its index has it (SQLite's "WAL-mode File Format", section 2).
///
/// It is in the memory that SQLite has mapped, in the byte order of the machine, and other
/// processes write it at any time.
struct LogIndex: Equatable {
    /// The header without its checksum. The index has two copies of it.
    private let header: [UInt32]
    private let checkpointedFrameCount: UInt32
    /// The bytes of a page. 65536 does not fit, and is written as 1.
    private let pageSize: UInt16

    private static let headerByteCount = 48
    /// The offset of the number of frames that are in the database too.
    private static let checkpointOffset = 96
    /// The bytes before the first page of the log, and before each page.
    private static let logHeaderByteCount = 32
    private static let frameHeaderByteCount = 24

    /// Nil if the two copies differ, because a process is writing them.
    init?(_ start: UnsafeMutableRawPointer) {
        func words(_ offset: Int) -> [UInt32] {
            (0..<Self.headerByteCount / 4).map {
                unsafe start.load(fromByteOffset: offset + $0 * 4, as: UInt32.self)
            }
        }
        header = words(0)
        checkpointedFrameCount = unsafe start.load(
            fromByteOffset: Self.checkpointOffset, as: UInt32.self)
        unsafe pageSize = start.load(fromByteOffset: 14, as: UInt16.self)
        guard header == words(Self.headerByteCount), header[0] != 0 else { return nil }
    }

    private var frameCount: Int { Int(header[4]) }

    private var pageByteCount: Int { Int(pageSize & 0xFE00) + Int(pageSize & 1) << 16 }

    /// The least length of the log.
    var byteCount: Int {
        guard frameCount > 0 else { return 0 }
        return Self.logHeaderByteCount + frameCount * (pageByteCount + Self.frameHeaderByteCount)
    }

    var isCheckpointed: Bool { checkpointedFrameCount == header[4] }
}
