public import Bytes
import CLibevent
import CLinux

/// A file without a name for a body that is too large for memory. The system frees it with its
/// descriptor, also when the process is killed.
///
/// Each call may block, and so may the end of the value: on a slow disk for a moment, on a frozen
/// file system until that is thawed. So it belongs to a thread that may wait. Other threads use
/// only its ``content``.
public struct TemporaryFile: ~Copyable {
    private let owned: Descriptor
    private let directory: String
    /// The number of bytes appended so far.
    public private(set) var byteCount = 0

    /// Throws ``IOError/Reason/outOfDescriptors`` also if its descriptor would not be below
    /// `descriptorMax`.
    public init(directory: String, descriptorMax: Int32 = .max) throws(IOError) {
        self.directory = directory
        let opened = try Self.open(in: directory)
        guard opened.raw < descriptorMax else { throw IOError(directory, .outOfDescriptors) }
        owned = opened
    }

    /// Appends all of `bytes`. After an error (above all ``IOError/Reason/diskFull``) the file must
    /// not be used any more.
    public mutating func append(_ bytes: Span<UInt8>) throws(IOError) {
        try File.writeAll(owned.raw, directory, bytes, at: byteCount)
        byteCount += bytes.count
    }

    /// Reads one byte of each page of `range`, so that the system has them in memory.
    public func makeResident(_ range: Range<Int>) throws(IOError) {
        var byte: UInt8 = 0
        for position in stride(from: range.lowerBound, to: range.upperBound, by: Self.pageByteCount)
        {
            while unsafe pread(owned.raw, &byte, 1, off_t(position)) < 0 {
                let code = sallyport_errno()
                if code != EINTR { throw IOError(directory, errno: code) }
            }
        }
    }

    /// The file's bytes, for the thread that sends them on.
    public var content: Content { Content(descriptor: owned.raw, directory: directory) }

    /// The bytes of a file that another thread owns. Valid until that thread closes the file.
    ///
    /// Neither call blocks for bytes that are resident.
    public struct Content: Sendable {
        fileprivate let descriptor: Int32
        fileprivate let directory: String

        /// Appends to `buffer` up to `byteCountMax` bytes from `offset`; 0 at the end of the file.
        public func read(
            at offset: Int, into buffer: inout ByteBuffer, atMost byteCountMax: Int
        ) throws(IOError) -> Int {
            do throws(IOError) {
                return try File.read(
                    descriptor, at: offset, into: &buffer, atMost: byteCountMax)
            } catch {
                throw IOError(directory, error.reason)
            }
        }

        /// Sends up to `byteCountMax` bytes from `offset` to a socket, without copying them through
        /// the process; `bytes(0)` at the end of the file. SIGPIPE must be ignored.
        public func send(
            from offset: Int, atMost byteCountMax: Int, to socket: Int32
        ) -> WriteOutcome {
            Socket.write(socket, fromFile: descriptor, at: offset, atMost: byteCountMax)
        }
    }

    /// The smallest page of any machine. With a larger page, each is only read more than once.
    private static let pageByteCount = 4096

    private static func open(in directory: String) throws(IOError) -> Descriptor {
        let flags = O_RDWR | O_EXCL
        do throws(IOError) {
            return try File.open(directory, flags | sallyport_o_tmpfile(), mode: 0o600)
        } catch {
            // open(2): a kernel or file system without O_TMPFILE answers with one of these.
            guard error.reason == .isDirectory || error.reason == .other(errno: EOPNOTSUPP) else {
                throw IOError(directory, error.reason)
            }
        }
        let path = "\(directory)/.sallyport-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        let file = try File.open(path, flags | O_CREAT, mode: 0o600)
        try File.remove(path)
        return file
    }
}
