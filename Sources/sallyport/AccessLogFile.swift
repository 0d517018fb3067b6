import Bytes
import EventLoop
import JSON

/// An access log of any size, searched from its end because operators mostly ask about recent
/// requests.
final class AccessLogFile {
    private let path: String
    private let descriptor: Int32
    /// The length at the time of opening. Later lines are not searched.
    private let byteCount: Int

    /// The part of it that is in memory at once.
    static let blockByteCount = 1 << 20

    init(_ path: String) throws(IOError) {
        self.path = path
        byteCount = try File.regularByteCount(path)
        descriptor = try File.openReading(path).release()
    }

    deinit { Socket.close(descriptor) }

    /// The number of skipped lines that mention the id and are longer than any of the gateway's.
    private(set) var overlongLineCount = 0

    /// The members of the newest line of this request; nil if there is none.
    ///
    /// Each line is examined once, however often it mentions the id. Throws if the file does not
    /// begin like a log in JSON.
    func lastLine(of requestID: String) throws(IOError) -> JSONValue? {
        guard byteCount > 0 else { return nil }
        guard try bytes(0..<1) == [UInt8(ascii: "{")] else {
            throw IOError(path, .unresolved("is not an access log in JSON (log.format)"))
        }
        let needle = Self.needle(requestID)
        var end = byteCount
        while end > 0 {
            let start = max(0, end - Self.blockByteCount)
            // An id may lie across the border between two blocks.
            let block = try bytes(start..<min(byteCount, end + needle.count - 1))
            var limit = block.count
            end = start
            while let offset = Self.lastOffset(of: needle, in: block.span, before: limit) {
                let line = try line(around: start + offset)
                if let text = line.text, let members = Self.members(text.span, of: requestID) {
                    return members
                }
                guard line.start > start else {
                    end = line.start
                    break
                }
                limit = line.start - start
            }
        }
        return nil
    }

    /// The members of a line, if it belongs to this request.
    static func members(_ line: Span<UInt8>, of requestID: String) -> JSONValue? {
        guard lastOffset(of: needle(requestID), in: line, before: line.count) != nil,
            let members = try? JSONValue.parse(line, byteCountMax: line.count, depthMax: 8),
            members["request_id"]?.stringValue == requestID
        else { return nil }
        return members
    }

    /// The id in its JSON spelling, because a proxy may have put any character into it.
    private static func needle(_ requestID: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.element(string: requestID)
        return writer.finish().readable.array
    }

    private static func lastOffset(
        of needle: [UInt8], in bytes: Span<UInt8>, before end: Int
    ) -> Int? {
        var offset = end - needle.count
        while offset >= 0 {
            var index = 0
            while index < needle.count, bytes[offset + index] == needle[index] { index += 1 }
            if index == needle.count { return offset }
            offset -= 1
        }
        return nil
    }

    /// The line that holds this byte of the file, and its start; no text if the line is longer than
    /// any of the gateway's. Reads little at first, because most lines are short.
    private func line(
        around offset: Int
    ) throws(IOError) -> (start: Int, text: [UInt8]?) {
        var countMax = 4096
        while countMax <= LineReader.lineByteCountMax {
            let low = max(0, offset - countMax)
            let before = try bytes(low..<offset)
            let behind = try bytes(offset..<min(byteCount, offset + countMax))
            let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? (low > 0 ? nil : 0)
            let end =
                behind.firstIndex(of: 0x0A) ?? (offset + countMax < byteCount ? nil : behind.count)
            if let start, let end { return (low + start, Array(before[start...]) + behind[..<end]) }
            countMax *= 16
        }
        overlongLineCount += 1
        return (try lineStart(before: offset), nil)
    }

    /// The start of the line that holds this byte of the file.
    private func lineStart(before offset: Int) throws(IOError) -> Int {
        var end = offset
        while end > 0 {
            let start = max(0, end - Self.blockByteCount)
            if let last = try bytes(start..<end).lastIndex(of: 0x0A) { return start + last + 1 }
            end = start
        }
        return 0
    }

    private func bytes(_ range: Range<Int>) throws(IOError) -> [UInt8] {
        var buffer = ByteBuffer(capacity: range.count)
        while buffer.count < range.count {
            let rest = range.count - buffer.count
            let count = try File.read(
                descriptor, at: range.lowerBound + buffer.count, into: &buffer, atMost: rest)
            // The file was cut meanwhile.
            if count == 0 { break }
        }
        return buffer.readable.array
    }
}
