import Bytes
import CNghttp2

/// The fields of one header block on its way out. Names are sent in lower case.
@safe
public struct FieldBlock: ~Copyable {
    private struct Entry {
        let nameCount: Int
        let valueCount: Int
        let isIndexed: Bool
    }

    private var bytes = ByteBuffer()
    private var entries: [Entry] = []

    public init() {}

    public mutating func clear() {
        bytes.clear(keepingAtMost: 4096)
        entries.removeAll(keepingCapacity: true)
    }

    /// - Parameter isIndexed: false for a value that never comes again: it would only push others
    ///   out of the compression table.
    public mutating func append(
        _ name: Span<UInt8>, _ value: Span<UInt8>, isIndexed: Bool = true
    ) {
        bytes.append(name)
        bytes.append(value)
        entries.append(
            Entry(nameCount: name.count, valueCount: value.count, isIndexed: isIndexed))
    }

    public mutating func append(
        _ name: StaticString, _ value: Span<UInt8>, isIndexed: Bool = true
    ) {
        bytes.append(name)
        bytes.append(value)
        entries.append(
            Entry(
                nameCount: name.utf8CodeUnitCount, valueCount: value.count, isIndexed: isIndexed))
    }

    public mutating func append(_ name: StaticString, _ value: StaticString) {
        bytes.append(name)
        bytes.append(value)
        entries.append(
            Entry(
                nameCount: name.utf8CodeUnitCount, valueCount: value.utf8CodeUnitCount,
                isIndexed: true))
    }

    public mutating func append(_ name: StaticString, decimal: UInt64) {
        bytes.append(name)
        let start = bytes.count
        bytes.append(decimal: decimal)
        entries.append(
            Entry(
                nameCount: name.utf8CodeUnitCount, valueCount: bytes.count - start, isIndexed: true
            ))
    }

    /// Gives the fields to `use` in nghttp2's form, which is valid in the call.
    borrowing func withPairs(_ use: (UnsafePointer<nghttp2_nv>?, Int) -> Int32) -> Int32 {
        unsafe bytes.readable.withUnsafeBufferPointer { buffer in
            var pairs: [nghttp2_nv] = unsafe []
            unsafe pairs.reserveCapacity(entries.count)
            var offset = 0
            for entry in entries {
                // The library only reads them; its type does not say so.
                let start = unsafe buffer.baseAddress.map {
                    unsafe UnsafeMutablePointer(mutating: $0 + offset)
                }
                let flags = entry.isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                unsafe pairs.append(
                    nghttp2_nv(
                        name: start, value: unsafe start.map { unsafe $0 + entry.nameCount },
                        namelen: entry.nameCount, valuelen: entry.valueCount,
                        flags: UInt8(truncatingIfNeeded: flags.rawValue)))
                offset += entry.nameCount + entry.valueCount
            }
            return unsafe pairs.withUnsafeBufferPointer { pairs in
                unsafe use(pairs.baseAddress, pairs.count)
            }
        }
    }
}
