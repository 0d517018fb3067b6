/// What ended requests leave for later ones, of all HTTP/2 sessions of one thread.
public final class StreamSupply {
    private var streams: [SessionStream] = []
    private var heads: [[UInt8]] = []

    private static let keptCountMax = 128
    private static let headByteCountMax = 4 * 1024

    public init() {}

    func takeStream() -> SessionStream { streams.popLast() ?? SessionStream() }

    /// Takes back a stream that is in no table any more.
    func giveBack(_ stream: SessionStream) {
        guard streams.count < Self.keptCountMax else { return }
        stream.reset()
        streams.append(stream)
    }

    /// No bytes, with storage if there is some.
    func takeHead() -> [UInt8] { heads.popLast() ?? [] }

    /// Takes the storage of bytes that are not needed any more.
    public func giveBack(head: consuming [UInt8]) {
        guard heads.count < Self.keptCountMax, head.capacity > 0,
            head.capacity <= Self.headByteCountMax
        else { return }
        head.removeAll(keepingCapacity: true)
        heads.append(head)
    }
}
