/// One of the 16384 parts that a cluster's keys are divided into ("Redis cluster specification").
public struct RedisSlot: Hashable, Sendable, Comparable {
    public static let count = 16_384

    public let number: Int

    /// The slot with this number; nil beyond the last.
    public init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = number
    }

    /// The slot of `key`: of the text in its first braces, if that is not empty.
    public init(ofKey key: [UInt8]) {
        var part = key[...]
        if let open = key.firstIndex(of: 0x7B) {
            let rest = key[(open + 1)...]
            if let close = rest.firstIndex(of: 0x7D), close > rest.startIndex {
                part = rest[..<close]
            }
        }
        self.init(ofTag: part)
    }

    /// The slot of a text between braces.
    public init(ofTag tag: some Sequence<UInt8>) {
        var register: UInt16 = 0
        for byte in tag {
            register = register << 8 ^ Self.table[Int((register >> 8) ^ UInt16(byte))]
        }
        number = Int(register) & (Self.count - 1)
    }

    /// The table of CRC-16/XMODEM: polynomial 0x1021, no reflection, register from 0.
    private static let table: [UInt16] = (0..<256).map { byte in
        (0..<8).reduce(UInt16(byte) << 8) { value, _ in
            value & 0x8000 == 0 ? value << 1 : value << 1 ^ 0x1021
        }
    }

    public static func < (left: RedisSlot, right: RedisSlot) -> Bool {
        left.number < right.number
    }

    /// A short text that hashes to this slot, the same at every call.
    public var tag: [UInt8] {
        // So many texts hit each slot sixty times on average, so none is missing.
        for number in 0..<1_000_000 {
            let text = Array(String(number, radix: 36).utf8)
            if RedisSlot(ofTag: text) == self { return text }
        }
        preconditionFailure("a slot without a text")
    }

    /// The slot's place in a fixed shuffle of all slots. A server keeps its record in the slot that
    /// comes first in it, so that moving some slots to another server rarely moves the record.
    public var rank: Int { number &* 0x2545 & (Self.count - 1) }
}

/// The server that a cluster names for a slot.
public enum RedisRedirection: Hashable, Sendable {
    /// The slot has moved to that server. Remember it.
    case moved(RedisSlot, RedisEndpoint)
    /// The slot is moving to that server. Ask there this once, after `ASKING`.
    case ask(RedisSlot, RedisEndpoint)

    /// Parses `MOVED 3999 127.0.0.1:6381`; an empty host means that of the server that was asked.
    public init?(_ line: String, askedAt asked: RedisEndpoint?) {
        let words = line.split(separator: " ")
        guard words.count == 3, let slot = Int(words[1]).flatMap(RedisSlot.init),
            let colon = words[2].lastIndex(of: ":")
        else { return nil }
        var host = String(words[2][..<colon])
        if host.isEmpty, case .tcp(let askedHost, _) = asked { host = askedHost }
        let port = String(words[2][colon...].dropFirst())
        guard let endpoint = RedisEndpoint(host: host, port: port) else { return nil }
        switch words[0] {
        case "MOVED": self = .moved(slot, endpoint)
        case "ASK": self = .ask(slot, endpoint)
        default: return nil
        }
    }
}

/// The slots of each master of a cluster, as one of its servers sees them.
public struct RedisSlotMap: Hashable, Sendable {
    public private(set) var masters: [RedisEndpoint] = []
    /// An index of ``masters`` for each slot; -1 if no master keeps it.
    private var owners = [Int16](repeating: -1, count: RedisSlot.count)

    public init() {}

    /// Parses the reply to `CLUSTER SLOTS`; nil if it is another reply.
    public init?(_ reply: RedisReply, askedAt asked: RedisEndpoint?) {
        guard case .array(let ranges) = reply, ranges.count <= RedisSlot.count else { return nil }
        for range in ranges {
            guard case .array(let parts) = range, parts.count >= 3,
                case .integer(let first) = parts[0], case .integer(let last) = parts[1],
                first >= 0, first <= last, last < Int64(RedisSlot.count),
                case .array(let node) = parts[2], node.count >= 2,
                case .integer(let port) = node[1]
            else { return nil }
            var host = node[0].text ?? ""
            // A server that does not know its own name, or was told to announce none.
            if host.isEmpty || host == "?", case .tcp(let askedHost, _) = asked {
                host = askedHost
            }
            guard let endpoint = RedisEndpoint(host: host, port: "\(port)") else { return nil }
            let owner = index(of: endpoint)
            for slot in Int(first)...Int(last) { owners[slot] = owner }
        }
    }

    private mutating func index(of endpoint: RedisEndpoint) -> Int16 {
        if let known = masters.firstIndex(of: endpoint) { return Int16(known) }
        masters.append(endpoint)
        return Int16(masters.count - 1)
    }

    public subscript(slot: RedisSlot) -> RedisEndpoint? {
        let owner = owners[slot.number]
        return owner < 0 ? nil : masters[Int(owner)]
    }

    public mutating func move(_ slot: RedisSlot, to endpoint: RedisEndpoint) {
        owners[slot.number] = index(of: endpoint)
    }

    /// The slots of `endpoint`, ascending.
    public func slots(of endpoint: RedisEndpoint) -> [RedisSlot] {
        guard let index = masters.firstIndex(of: endpoint) else { return [] }
        return owners.indices.lazy.filter { owners[$0] == Int16(index) }.compactMap(RedisSlot.init)
    }

    /// True if every slot has a master.
    public var isComplete: Bool { !owners.contains(-1) }
}
