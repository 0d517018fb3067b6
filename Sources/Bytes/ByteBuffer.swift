/// A growable run of bytes that is filled at the end and emptied from the front.
///
/// Readers get a `Span`; sockets fill it through ``withUnsafeWritable(minimumCount:_:)``, which
/// only the wrappers of system calls use. An empty buffer keeps its storage until ``release()``. A
/// buffer that was made with a ``StoragePool`` takes its first storage from there and gives it
/// back.
@safe
public struct ByteBuffer: ~Copyable {
    @usableFromInline var storage: UnsafeMutablePointer<UInt8>?
    @usableFromInline var start = 0
    @usableFromInline var end = 0
    public private(set) var capacity = 0
    private let pool: StoragePool?

    public init(pool: StoragePool? = nil) {
        unsafe storage = nil
        self.pool = pool
    }

    public init(capacity: Int) {
        self.init()
        grow(to: capacity)
    }

    deinit {
        if let storage = unsafe storage { unsafe Self.discard(storage, capacity, pool) }
    }

    @inlinable public var count: Int { end - start }
    @inlinable public var isEmpty: Bool { end == start }

    /// The bytes not yet consumed.
    @inlinable
    public var readable: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // A span needs an address even for no bytes.
            let base = unsafe storage.map { unsafe $0 + start } ?? emptyStorage
            let held = unsafe Span(_unsafeStart: UnsafePointer(base), count: end - start)
            return unsafe _overrideLifetime(held, borrowing: self)
        }
    }

    /// Forgets the first `byteCount` bytes.
    @inlinable
    public mutating func consume(_ byteCount: Int) {
        precondition(byteCount >= 0 && byteCount <= count)
        start += byteCount
        if start == end {
            start = 0
            end = 0
        }
    }

    /// Forgets every byte and keeps the storage.
    @inlinable
    public mutating func clear() {
        start = 0
        end = 0
    }

    /// Forgets every byte, and gives the storage back if it is larger than `capacityMax`.
    public mutating func clear(keepingAtMost capacityMax: Int) {
        if capacity > capacityMax { release() } else { clear() }
    }

    /// Forgets every byte and gives the storage back, so that an idle connection holds none.
    public mutating func release() {
        clear()
        guard let storage = unsafe storage else { return }
        unsafe Self.discard(storage, capacity, pool)
        unsafe self.storage = nil
        capacity = 0
    }

    private static func discard(
        _ storage: UnsafeMutablePointer<UInt8>, _ capacity: Int, _ pool: StoragePool?
    ) {
        if let pool {
            unsafe pool.giveBack(storage, byteCount: capacity)
        } else {
            unsafe storage.deallocate()
        }
    }

    /// Makes room for `byteCount` more bytes, by moving or growing if needed.
    @inlinable
    public mutating func reserve(_ byteCount: Int) {
        if capacity - end < byteCount { makeRoom(byteCount) }
    }

    @usableFromInline
    mutating func makeRoom(_ byteCount: Int) {
        if unsafe storage == nil, let lent = unsafe pool?.take(atLeast: byteCount) {
            unsafe storage = lent.piece
            capacity = unsafe lent.byteCount
            return
        }
        let held = count
        if capacity - held >= byteCount, let storage = unsafe storage {
            // Moving is cheaper than growing. Its cost is amortised, because at least half of the
            // storage was consumed, or the caller asked for more than the tail.
            unsafe storage.update(from: storage + start, count: held)
            start = 0
            end = held
            return
        }
        if let lent = unsafe pool?.take(atLeast: held + byteCount) {
            return unsafe move(to: lent.piece, capacity: lent.byteCount)
        }
        grow(to: max(held + byteCount, capacity * 2))
    }

    private mutating func grow(to newCapacity: Int) {
        unsafe move(to: .allocate(capacity: newCapacity), capacity: newCapacity)
    }

    private mutating func move(to fresh: UnsafeMutablePointer<UInt8>, capacity newCapacity: Int) {
        let held = count
        if let storage = unsafe storage {
            unsafe fresh.update(from: storage + start, count: held)
            unsafe Self.discard(storage, capacity, pool)
        }
        unsafe storage = fresh
        capacity = newCapacity
        start = 0
        end = held
    }

    /// Calls `body` with at least `minimumCount` writable bytes; `body` returns how many it filled.
    @inlinable
    public mutating func withUnsafeWritable<Failure: Error>(
        minimumCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        reserve(minimumCount)
        let tail = unsafe UnsafeMutableRawBufferPointer(
            start: storage.map { unsafe $0 + end }, count: capacity - end)
        let filled = try unsafe body(tail)
        precondition(filled >= 0 && filled <= capacity - end)
        end += filled
        return filled
    }

    /// Appends at most `byteCount` bytes, which `fill` writes in place.
    public mutating func append(
        byteCount: Int, _ fill: (inout OutputSpan<UInt8>) -> Void
    ) {
        reserve(byteCount)
        guard let storage = unsafe storage else { return }
        let room = unsafe UnsafeMutableBufferPointer(start: storage + end, count: byteCount)
        var output = unsafe OutputSpan(buffer: room, initializedCount: 0)
        fill(&output)
        end += unsafe output.finalize(for: room)
    }

    @inlinable
    public mutating func append(_ byte: UInt8) {
        reserve(1)
        if let storage = unsafe storage { unsafe storage[end] = byte }
        end += 1
    }

    @inlinable @inline(__always)
    public mutating func append(_ bytes: Span<UInt8>) {
        let byteCount = bytes.count
        guard byteCount > 0 else { return }
        reserve(byteCount)
        unsafe bytes.withUnsafeBufferPointer { source in
            if let storage = unsafe storage, let base = source.baseAddress {
                unsafe (storage + end).update(from: base, count: byteCount)
            }
        }
        end += byteCount
    }

    @inlinable
    public mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

    /// Inlined, so that a few instructions write the bytes of a literal, of which a head has
    /// dozens.
    @inlinable @inline(__always)
    public mutating func append(_ text: StaticString) {
        let byteCount = text.utf8CodeUnitCount
        reserve(byteCount)
        if let storage = unsafe storage {
            unsafe (storage + end).update(from: text.utf8Start, count: byteCount)
        }
        end &+= byteCount
    }

    /// Disfavoured, so that a literal is a `StaticString`, whose bytes are copied directly.
    @_disfavoredOverload
    public mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { source in
            reserve(source.count)
            if let storage = unsafe storage, let base = source.baseAddress {
                unsafe (storage + end).update(from: base, count: source.count)
            }
            end += source.count
        }
    }

    /// Appends `number` in decimal digits.
    public mutating func append(decimal number: UInt64) {
        let digitCount = number.decimalDigitCount
        reserve(digitCount)
        guard let storage = unsafe storage else { return }
        var position = end + digitCount
        var rest = number
        repeat {
            position -= 1
            unsafe storage[position] = UInt8(truncatingIfNeeded: rest % 10) | 0x30
            rest /= 10
        } while position > end
        end += digitCount
    }

    /// Appends `number` as sixteen lower-case hexadecimal digits.
    public mutating func append(paddedHexadecimal number: UInt64) {
        reserve(16)
        guard let storage = unsafe storage else { return }
        let room = unsafe UnsafeMutableRawPointer(storage + end)
        unsafe room.storeBytes(of: Hex.digits(number &>> 32).bigEndian, as: UInt64.self)
        unsafe room.storeBytes(
            of: Hex.digits(number & 0xFFFF_FFFF).bigEndian, toByteOffset: 8, as: UInt64.self)
        end += 16
    }

    /// Appends `number` in lower-case hexadecimal digits without leading zeros.
    public mutating func append(hexadecimal number: UInt64) {
        let digitCount = max(1, (64 - number.leadingZeroBitCount + 3) / 4)
        for index in (0..<digitCount).reversed() {
            append(Hex.digit(UInt8(truncatingIfNeeded: number >> UInt64(index * 4)) & 0xF))
        }
    }
}

/// The byte that the span of a buffer without storage points at.
@usableFromInline
nonisolated(unsafe) let emptyStorage = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)
