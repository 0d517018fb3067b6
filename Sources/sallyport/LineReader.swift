import Bytes
import EventLoop

/// Reads a file line by line, whatever its size.
final class LineReader {
    private let descriptor: Int32
    private var buffer = ByteBuffer()
    private var isAtEnd = false
    private let path: String
    private let skipsOverlong: Bool
    /// The number of lines that were too long and were left out.
    private(set) var overlongLineCount = 0

    /// `skipsOverlong`: continues behind a line that is too long; otherwise that is an error.
    init(_ path: String, skipsOverlong: Bool = false) throws(IOError) {
        self.path = path
        self.skipsOverlong = skipsOverlong
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
                guard skipsOverlong else {
                    throw IOError(path, .tooLarge(byteCountMax: Self.lineByteCountMax))
                }
                try skipLine()
                searched = 0
                continue
            }
            try readOn()
        }
    }

    private func readOn() throws(IOError) {
        do throws(IOError) {
            isAtEnd = try File.read(descriptor, into: &buffer, atMost: 256 * 1024) == 0
        } catch {
            throw IOError(path, error.reason)
        }
    }

    /// Skips to the end of a line, and keeps only the bytes behind it.
    private func skipLine() throws(IOError) {
        overlongLineCount += 1
        while true {
            var end = 0
            while end < buffer.count, buffer.readable[end] != 0x0A { end += 1 }
            guard end == buffer.count else { return buffer.consume(end + 1) }
            buffer.clear()
            try readOn()
            if isAtEnd { return }
        }
    }

    static let lineByteCountMax = 1024 * 1024
}
