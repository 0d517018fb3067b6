import Bytes
import JSON

/// The strings of client data, and the place of each in one piece of memory: the client data itself
/// if it has no escapes.
struct ClientDataMembers {
    enum Name: Int, CaseIterable {
        case challenge
        case method
        case path
        case query
        case bodySHA256
        case keyId

        var text: StaticString {
            switch self {
            case .challenge: "challenge"
            case .method: "method"
            case .path: "path"
            case .query: "query"
            case .bodySHA256: "bodySHA256"
            case .keyId: "keyId"
            }
        }
    }

    private enum Value {
        case absent
        case string(Range<Int>)
        case other
    }

    private(set) var text: [UInt8]
    private var values = InlineArray<6, Value>(repeating: .absent)

    /// The most levels. Client data is a flat object; anything deeper can only be in ignored
    /// members.
    private static let depthMax = 8

    /// Reads the form that apps send in one pass, and any other by the reader that builds a tree.
    init(_ json: [UInt8], byteCountMax: Int) throws(ClientDataFailure) {
        text = json
        if json.count <= byteCountMax, let object = JSONPlainObject(json.span) {
            read(object, json.span)
            return
        }
        text = []
        do {
            try read(
                JSONObjectReader(
                    parsing: json.span, byteCountMax: byteCountMax, depthMax: Self.depthMax))
        } catch {
            throw .json(error.description)
        }
    }

    private mutating func read(_ object: JSONPlainObject, _ json: Span<UInt8>) {
        var hasEscapes = false
        for index in 0..<object.count {
            let member = object[index]
            guard let name = Self.name(json.extracting(member.name)) else { continue }
            values[name.rawValue] = .string(member.value)
            hasEscapes = hasEscapes || member.hasEscapes
        }
        if hasEscapes { unescape(json) }
    }

    /// Writes the strings without the backslash of `\/`, the one escape that there is.
    private mutating func unescape(_ json: Span<UInt8>) {
        text = []
        for index in values.indices {
            guard case .string(let range) = values[index] else { continue }
            let start = text.count
            for position in range where json[position] != 0x5C { text.append(json[position]) }
            values[index] = .string(start..<text.count)
        }
    }

    private mutating func read(_ reader: borrowing JSONObjectReader) {
        for name in Name.allCases where reader.has(name.text) {
            guard let value = reader.span(name.text) else {
                values[name.rawValue] = .other
                continue
            }
            let start = text.count
            for index in value.indices { text.append(value[index]) }
            values[name.rawValue] = .string(start..<text.count)
        }
    }

    private static func name(_ bytes: Span<UInt8>) -> Name? {
        let name: Name
        switch bytes.count {
        case 4: name = .path
        case 5: name = bytes[0] == UInt8(ascii: "q") ? .query : .keyId
        case 6: name = .method
        case 9: name = .challenge
        case 10: name = .bodySHA256
        default: return nil
        }
        return ASCII.equals(bytes, name.text) ? name : nil
    }

    /// The string of an optional member. `null` throws too: it must not pass for a member that was
    /// left out.
    func optional(_ name: Name) throws(ClientDataFailure) -> Range<Int>? {
        switch values[name.rawValue] {
        case .absent: return nil
        case .string(let range): return range
        case .other: throw .malformed(name)
        }
    }

    func required(_ name: Name) throws(ClientDataFailure) -> Range<Int> {
        guard let range = try optional(name) else {
            throw .memberMissing(name.text.description)
        }
        return range
    }
}

extension ClientDataFailure {
    static func malformed(_ name: ClientDataMembers.Name) -> Self {
        .memberMalformed(name.text.description)
    }
}
