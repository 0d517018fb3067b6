public import Bytes
import CNghttp2

/// The fields of one header block to be sent. Names are sent in lower case.
@safe
public struct FieldBlock: ~Copyable {
    private struct Entry {
        let nameCount: Int
        let valueCount: Int
        let isIndexed: Bool
    }

    private var bytes = ByteBuffer()
    /// The fields, and behind them entries of earlier blocks, which are overwritten.
    private var entries: [Entry] = []
    private var count = 0

    public init() {}

    public var isEmpty: Bool { count == 0 }

    /// The size by the rule of SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113 section 6.5.2).
    public var listByteCount: Int { bytes.count + count * 32 }

    public mutating func clear() {
        bytes.clear(keepingAtMost: 4096)
        count = 0
    }

    /// - Parameter isIndexed: false for a value that is not sent again, because it would only push
    ///   others out of the compression table.
    public mutating func append(
        _ name: Span<UInt8>, _ value: Span<UInt8>, isIndexed: Bool = true
    ) {
        bytes.append(name)
        bytes.append(value)
        note(Entry(nameCount: name.count, valueCount: value.count, isIndexed: isIndexed))
    }

    public mutating func append(
        _ name: StaticString, _ value: Span<UInt8>, isIndexed: Bool = true
    ) {
        bytes.append(name)
        bytes.append(value)
        note(
            Entry(
                nameCount: name.utf8CodeUnitCount, valueCount: value.count, isIndexed: isIndexed))
    }

    public mutating func append(_ name: StaticString, _ value: StaticString) {
        append(name) { $0.append(value) }
    }

    public mutating func append(_ name: StaticString, decimal: UInt64) {
        append(name) { $0.append(decimal: decimal) }
    }

    /// Appends a field whose value `write` appends to the buffer. The buffer also holds other
    /// bytes, and must not be read.
    public mutating func append(
        _ name: StaticString, isIndexed: Bool = true, _ write: (inout ByteBuffer) -> Void
    ) {
        bytes.append(name)
        appendValue(name.utf8CodeUnitCount, isIndexed, write)
    }

    /// Appends a field like ``append(_:isIndexed:_:)-(StaticString,_,_)``.
    public mutating func append(
        _ name: Span<UInt8>, isIndexed: Bool = true, _ write: (inout ByteBuffer) -> Void
    ) {
        bytes.append(name)
        appendValue(name.count, isIndexed, write)
    }

    private mutating func appendValue(
        _ nameCount: Int, _ isIndexed: Bool, _ write: (inout ByteBuffer) -> Void
    ) {
        let start = bytes.count
        write(&bytes)
        precondition(bytes.count >= start, "a value removed bytes that stand before it")
        note(Entry(nameCount: nameCount, valueCount: bytes.count - start, isIndexed: isIndexed))
    }

    private mutating func note(_ entry: Entry) {
        if count < entries.count { entries[count] = entry } else { entries.append(entry) }
        count += 1
    }

    /// Appends a request whose head is `text` in HTTP/1.1's form, as the gateway itself writes it:
    /// the inverse of ``RequestHeadText``.
    ///
    /// - Returns: false if `text` is no such head.
    public mutating func append(requestHead text: Span<UInt8>, scheme: StaticString) -> Bool {
        guard let lineEnd = text.lineEnd(from: 0) else { return false }
        let line = text.extracting(0..<lineEnd)
        guard let methodEnd = line.firstIndex(of: 0x20),
            let targetEnd = line.firstIndex(of: 0x20, from: methodEnd + 1)
        else { return false }
        append(":method", line.extracting(0..<methodEnd))
        append(":scheme", scheme)
        append(":path", line.extracting(methodEnd + 1..<targetEnd))
        var start = lineEnd + 2
        while let end = text.lineEnd(from: start), end > start {
            let line = text.extracting(start..<end)
            guard let nameEnd = line.firstIndex(of: 0x3A), line.count >= nameEnd + 2 else {
                return false
            }
            appendRequestField(
                line.extracting(0..<nameEnd), line.extracting(nameEnd + 2..<line.count))
            start = end + 2
        }
        return true
    }

    private mutating func appendRequestField(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        switch name.count {
        // The gateway writes it first (RFC 9113 section 8.3.1).
        case 4 where name.equalsIgnoringCase("host"): append(":authority", value)
        case 10 where name.equalsIgnoringCase("connection"),
            17 where name.equalsIgnoringCase("transfer-encoding"):
            break
        // Fields that differ in each request, or have to be kept secret, stay out of the table.
        case 12 where name.equalsIgnoringCase("x-request-id"),
            13 where name.equalsIgnoringCase("authorization"):
            append(name, value, isIndexed: false)
        default: append(name, value, isIndexed: value.count <= Self.indexedByteCountMax)
        }
    }

    /// The longest value that is indexed because it may come again: the table has 4 KiB.
    private static let indexedByteCountMax = 128

    /// Calls `use` with the fields in nghttp2's form, which is valid during the call.
    borrowing func withPairs(_ use: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
        unsafe bytes.readable.withUnsafeBufferPointer { buffer in
            unsafe withUnsafeTemporaryAllocation(
                of: nghttp2_nv.self, capacity: count
            ) { pairs in
                var offset = 0
                for index in 0..<count {
                    let entry = entries[index]
                    // The library only reads them, although its type does not say so.
                    let start = unsafe buffer.baseAddress.map {
                        unsafe UnsafeMutablePointer(mutating: $0 + offset)
                    }
                    let flags = entry.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                    unsafe pairs.initializeElement(
                        at: index,
                        to: nghttp2_nv(
                            name: start, value: unsafe start.map { unsafe $0 + entry.nameCount },
                            namelen: entry.nameCount, valuelen: entry.valueCount,
                            flags: UInt8(truncatingIfNeeded: flags.rawValue)))
                    offset += entry.nameCount + entry.valueCount
                }
                return unsafe use(pairs.baseAddress, count)
            }
        }
    }
}

extension Span where Element == UInt8 {
    /// The end, by CRLF, of the line that begins at `start`.
    fileprivate func lineEnd(from start: Int) -> Int? {
        var index = start
        while index + 1 < count {
            if self[index] == 0x0D, self[index + 1] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    fileprivate func firstIndex(of byte: UInt8, from start: Int = 0) -> Int? {
        var index = start
        while index < count {
            if self[index] == byte { return index }
            index += 1
        }
        return nil
    }

    fileprivate func equalsIgnoringCase(_ text: StaticString) -> Bool {
        guard text.utf8CodeUnitCount == count else { return false }
        return text.withUTF8Buffer { other in
            for index in indices {
                guard unsafe other[index] == ASCII.lowercased(self[index]) else { return false }
            }
            return true
        }
    }
}
