import Bytes
import EventLoop

/// The destination of log lines, on its writer's thread. A line arrives complete or not at all: the
/// rest of a line that was written in part goes first when the destination takes bytes again.
struct LogEnd {
    private(set) var descriptor: Int32
    private var kind: File.End
    /// The time for which a full pipe is waited for.
    private let patienceMilliseconds: Int32
    /// The rest of a line of which a part was written.
    private var begun: [UInt8] = []
    /// True if the last wait was in vain.
    private var isStuck = false

    init(descriptor: Int32, patienceMilliseconds: Int32 = 1000) {
        self.descriptor = descriptor
        kind = File.end(descriptor)
        self.patienceMilliseconds = patienceMilliseconds
    }

    /// Writes whole lines, and returns the number of lines that could not be written.
    ///
    /// - Parameter isLast: true if something else waits, such as the end of the gateway: a reader
    ///   that has stopped is not waited for again.
    mutating func write(_ lines: [UInt8], isLast: Bool = false) -> Int {
        guard finishLine(isLast: isLast) else { return Self.lineCount(lines[...]) }
        let count = append(lines[...], isLast: isLast)
        var rest = lines[count...]
        guard count > 0, lines[count - 1] != Self.lineFeed, !rest.isEmpty else {
            return Self.lineCount(rest)
        }
        let end = rest.firstIndex(of: Self.lineFeed).map { $0 + 1 } ?? rest.endIndex
        begun = Array(rest[..<end])
        rest = rest[end...]
        return Self.lineCount(rest)
    }

    /// Goes on with another destination. Returns the number of lines of which the old one has only
    /// a part.
    mutating func move(to descriptor: Int32) -> Int {
        let isWhole = finishLine(isLast: true)
        begun = []
        isStuck = false
        Socket.close(self.descriptor)
        self.descriptor = descriptor
        kind = File.end(descriptor)
        return isWhole ? 0 : 1
    }

    /// Ends the writing, after one more try with a line that was begun. A descriptor that is not
    /// ours stays open.
    mutating func end(isOwn: Bool) -> Int {
        let isWhole = finishLine(isLast: true)
        if isOwn { Socket.close(descriptor) }
        return isWhole ? 0 : 1
    }

    private mutating func finishLine(isLast: Bool) -> Bool {
        guard !begun.isEmpty else { return true }
        begun.removeFirst(append(begun[...], isLast: isLast))
        return begun.isEmpty
    }

    /// Writes bytes, and returns how many were taken. A full pipe is waited for.
    private mutating func append(_ bytes: ArraySlice<UInt8>, isLast: Bool) -> Int {
        let span = bytes.span
        var count = 0
        while count < span.count {
            let rest = span.extracting(count...)
            let outcome =
                switch kind {
                case .plain: File.append(descriptor, rest)
                case .socket: Socket.writeAtOnce(descriptor, rest)
                case .waiting: File.appendAtOnce(descriptor, rest)
                }
            switch outcome {
            case .bytes(let taken):
                count += taken
                isStuck = false
            case .wouldBlock:
                guard !(isLast && isStuck) else { return count }
                isStuck = !File.awaitWritable(descriptor, milliseconds: patienceMilliseconds)
                if isStuck { return count }
            // The disk is full, or the pipe has no reader.
            case .failed: return count
            }
        }
        return count
    }

    private static func lineCount(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.count { $0 == lineFeed }
    }

    private static let lineFeed = UInt8(ascii: "\n")
}
