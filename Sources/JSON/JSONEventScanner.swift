/// Finds numbers in the JSON of server-sent events (WHATWG HTML, section 9.2) whose bytes come
/// piece by piece. The last event that has a number decides.
///
/// It holds no event, however long one is: the lines of its `data` go to a ``JSONScanner`` as they
/// come.
public struct JSONEventScanner {
    /// The place in the stream.
    private enum Place {
        /// Before the stream's first byte, or behind this many bytes of a byte order mark.
        case start(Int)
        /// Behind this many bytes of a line that may be `data`.
        case name(Int)
        /// Behind the colon of `data:`, where one space may follow.
        case colon
        case value
        /// In a line that is no data: a comment, or another field.
        case ignored
    }

    private let fresh: JSONScanner
    private var scanner: JSONScanner
    private var place = Place.start(0)
    /// True behind a carriage return: a line feed that follows belongs to it.
    private var isAfterReturn = false
    /// True if the current event has a line of data.
    private var hasData = false
    /// The numbers found so far, in the order of the pointers; nil for those that no event had.
    private var numbers: [JSONNumber?]

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let dataName = Array("data".utf8)
    private static let lineFeed: [UInt8] = [0x0A]

    public init(_ pointers: [JSONPointer]) {
        let search = JSONScanner.Search(pointers: pointers, stringByteCountMax: 0)
        fresh = JSONScanner(search, depthMax: JSONScanner.depthLimit)
        scanner = fresh
        numbers = [JSONNumber?](repeating: nil, count: pointers.count)
    }

    /// Takes the next piece of the stream.
    public mutating func feed(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            if isAfterReturn {
                isAfterReturn = false
                if byte == 0x0A {
                    index += 1
                    continue
                }
            }
            if case .value = place {
                let start = index
                while index < bytes.count, !Self.endsLine(bytes[index]) { index += 1 }
                scanner.feed(bytes.extracting(start..<index))
                guard index < bytes.count else { return }
                endLine(bytes[index])
                index += 1
            } else {
                if take(byte) { index += 1 }
            }
        }
    }

    /// Ends the stream, and returns the numbers that it had. An event counts even if the stream
    /// ends before the empty line behind it.
    public mutating func finish() -> [JSONNumber?] {
        dispatch()
        return numbers
    }

    /// Takes a byte outside of values. False if it has to be taken again.
    private mutating func take(_ byte: UInt8) -> Bool {
        switch place {
        case .start(let count):
            guard byte == Self.byteOrderMark[count] else {
                place = count == 0 ? .name(0) : .ignored
                return false
            }
            place = count + 1 < Self.byteOrderMark.count ? .start(count + 1) : .name(0)
        case .colon:
            place = .value
            return byte == 0x20
        case .name(let count):
            if Self.endsLine(byte) {
                if count == 0 { dispatch() }
                if count == Self.dataName.count { beginData() }
                endLine(byte)
            } else if byte == 0x3A, count == Self.dataName.count {
                beginData()
                place = .colon
            } else if count < Self.dataName.count, byte == Self.dataName[count] {
                place = .name(count + 1)
            } else {
                place = .ignored
            }
        case .ignored: if Self.endsLine(byte) { endLine(byte) }
        case .value: return false
        }
        return true
    }

    private static func endsLine(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    private mutating func endLine(_ byte: UInt8) {
        place = .name(0)
        isAfterReturn = byte == 0x0D
    }

    /// Begins a line of data. The lines of an event are joined by line feeds.
    private mutating func beginData() {
        if hasData { scanner.feed(Self.lineFeed.span) }
        hasData = true
    }

    /// Ends an event. One that is no JSON, such as `[DONE]`, has no numbers.
    private mutating func dispatch() {
        guard hasData else { return }
        hasData = false
        if let members = try? scanner.finish().members {
            for (index, member) in members.enumerated() {
                if case .number(let number) = member { numbers[index] = number }
            }
        }
        scanner = fresh
    }
}
