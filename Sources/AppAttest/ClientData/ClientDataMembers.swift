import Bytes
import JSON

/// The strings of client data, decoded into one piece of memory, and where each lies in it.
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

    /// A flat object; anything deeper can only be in members that are ignored.
    private static let depthMax = 8

    /// Reads the form that apps send in one pass, and any other by the reader that builds a tree.
    init(_ json: Span<UInt8>, byteCountMax: Int) throws(ClientDataFailure) {
        text = []
        if json.count <= byteCountMax, let object = JSONPlainObject(json) {
            read(object, json)
            return
        }
        do {
            try read(
                JSONObjectReader(
                    parsing: json, byteCountMax: byteCountMax, depthMax: Self.depthMax))
        } catch {
            throw .json(error.description)
        }
    }

    private mutating func read(_ object: JSONPlainObject, _ json: Span<UInt8>) {
        var values = values
        text = [UInt8](capacity: json.count) { output in
            for index in 0..<object.count {
                let member = object[index]
                guard let name = Self.name(json.extracting(member.name)) else { continue }
                let start = output.count
                for index in member.value where json[index] != 0x5C { output.append(json[index]) }
                values[name.rawValue] = .string(start..<output.count)
            }
        }
        self.values = values
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

    private static let names = Name.allCases.map { (name: $0, text: Array("\($0.text)".utf8)) }

    private static func name(_ bytes: Span<UInt8>) -> Name? {
        names.first { ASCII.equals(bytes, $0.text) }?.name
    }

    /// `null` is refused too: a member that says nothing must not pass for one left out.
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
