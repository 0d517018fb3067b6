import Bytes
import EventLoop

/// Reads a file line by line, whatever its size.
final class LineReader {
    private let descriptor: Int32
    private var buffer = ByteBuffer()
    private var isAtEnd = false
    private let path: String

    init(_ path: String) throws(IOError) {
        self.path = path
        descriptor = try File.openReading(path).release()
    }

    deinit { Socket.close(descriptor) }

    /// The next line without its end; nil after the last.
    func next() throws(IOError) -> [UInt8]? {
        var searched = 0
        while true {
            let count = buffer.count
            while searched < count, buffer.readable[searched] != 0x0A { searched += 1 }
            if searched < count {
                let line = buffer.readable.extracting(0..<searched).array
                buffer.consume(searched + 1)
                return line
            }
            if isAtEnd {
                guard count > 0 else { return nil }
                let line = buffer.readable.array
                buffer.clear()
                return line
            }
            guard count <= Self.lineByteCountMax else {
                throw IOError(path, .tooLarge(byteCountMax: Self.lineByteCountMax))
            }
            isAtEnd = try File.read(descriptor, into: &buffer, atMost: 256 * 1024) == 0
        }
    }

    static let lineByteCountMax = 1024 * 1024
}
