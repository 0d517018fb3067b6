public import Bytes
import CHiredis

/// One command and its arguments, built in place: `clear()` keeps the storage for the next.
public struct RedisCommand: Sendable {
    /// Every argument after another; `ends[i]` is where argument `i` ends.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []

    public init() {}

    public init(_ words: String...) {
        for word in words { append(word) }
    }

    public var argumentCount: Int { ends.count }

    public mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    public mutating func append(_ argument: String) {
        bytes.append(contentsOf: argument.utf8)
        ends.append(bytes.count)
    }

    public mutating func append(_ argument: [UInt8]) {
        bytes.append(contentsOf: argument)
        ends.append(bytes.count)
    }

    /// Appends one argument made of several parts.
    public mutating func append(_ first: [UInt8], _ second: [UInt8], _ third: [UInt8] = []) {
        bytes.append(contentsOf: first)
        bytes.append(contentsOf: second)
        bytes.append(contentsOf: third)
        ends.append(bytes.count)
    }

    /// Appends `number` in decimal digits.
    public mutating func append(_ number: Int) { append(String(number)) }

    /// Writes the command as RESP sends it, by `redisFormatCommandArgv`.
    public func write(to output: inout ByteBuffer) {
        precondition(!ends.isEmpty, "a command without a name")
        unsafe bytes.withUnsafeBytes { storage in
            // Arguments may all be empty, and then there is no storage to point at.
            let base = unsafe storage.baseAddress ?? UnsafeRawPointer(replacement)
            unsafe withUnsafeTemporaryAllocation(
                of: UnsafePointer<CChar>?.self, capacity: ends.count
            ) { pointers in
                unsafe withUnsafeTemporaryAllocation(of: Int.self, capacity: ends.count) { counts in
                    var start = 0
                    for (index, end) in ends.enumerated() {
                        unsafe pointers.initializeElement(
                            at: index, to: (base + start).assumingMemoryBound(to: CChar.self))
                        unsafe counts.initializeElement(at: index, to: end - start)
                        start = end
                    }
                    unsafe Self.format(
                        count: ends.count, pointers.baseAddress, counts.baseAddress, into: &output)
                }
            }
        }
    }

    private static func format(
        count: Int, _ pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
        _ byteCounts: UnsafePointer<Int>?, into output: inout ByteBuffer
    ) {
        var formatted: UnsafeMutablePointer<CChar>?
        let byteCount = unsafe Int(
            redisFormatCommandArgv(&formatted, Int32(count), pointers, byteCounts))
        guard byteCount > 0, let formatted = unsafe formatted else { fatalError("out of memory") }
        defer { unsafe redisFreeCommand(formatted) }
        _ = unsafe output.withUnsafeWritable(minimumCount: byteCount) { target in
            unsafe target.copyMemory(
                from: UnsafeRawBufferPointer(start: formatted, count: byteCount))
            return byteCount
        }
    }
}

private nonisolated(unsafe) let replacement = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
