import CJansson

/// A JSON value as a Swift value: for tools and tests, where convenience matters more than speed.
public indirect enum JSONValue: Sendable, Hashable {
    case object([String: JSONValue])
    case array([JSONValue])
    case string(String)
    case integer(Int64)
    case number(Double)
    case bool(Bool)
    case null

    /// Parses the value that `bytes` spell, alone and strictly; see ``JSONDocument``.
    public static func parse(
        _ bytes: Span<UInt8>, byteCountMax: Int, depthMax: Int = JSONDocument.depthMaxDefault
    ) throws(JSONError) -> JSONValue {
        let document = try JSONDocument(
            parsing: bytes, byteCountMax: byteCountMax, depthMax: depthMax)
        return try document.value()
    }

    /// The member of an object; nil if there is none, or for other values.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    public var stringValue: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    public var integerValue: Int64? {
        guard case .integer(let number) = self else { return nil }
        return number
    }

    public var boolValue: Bool? {
        guard case .bool(let flag) = self else { return nil }
        return flag
    }

    public var arrayValue: [JSONValue]? {
        guard case .array(let elements) = self else { return nil }
        return elements
    }

    public var objectValue: [String: JSONValue]? {
        guard case .object(let members) = self else { return nil }
        return members
    }
}

extension JSONValue {
    /// Copies a tree. It recurses as deep as the tree, which was bounded when it was parsed.
    init(_ node: UnsafeMutablePointer<json_t>) throws(JSONError) {
        switch unsafe node.pointee.type {
        case JSON_OBJECT: self = try unsafe .object(Self.members(node))
        case JSON_ARRAY: self = try unsafe .array(Self.elements(node))
        case JSON_STRING:
            guard let bytes = unsafe stringBytes(node) else { throw .malformed(offset: 0) }
            self = unsafe .string(String(decoding: bytes, as: UTF8.self))
        case JSON_INTEGER: self = unsafe .integer(Int64(json_integer_value(node)))
        case JSON_REAL: self = unsafe .number(json_real_value(node))
        case JSON_TRUE: self = .bool(true)
        case JSON_FALSE: self = .bool(false)
        default: self = .null
        }
    }

    private static func members(
        _ node: UnsafeMutablePointer<json_t>
    ) throws(JSONError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        var position = unsafe json_object_iter(node)
        while let member = unsafe position {
            guard let name = unsafe json_object_iter_key(member),
                let value = unsafe json_object_iter_value(member)
            else { throw .malformed(offset: 0) }
            let converted = try unsafe JSONValue(value)
            guard members.updateValue(converted, forKey: unsafe String(cString: name)) == nil else {
                throw .duplicateMember(offset: 0)
            }
            unsafe position = json_object_iter_next(node, member)
        }
        return members
    }

    private static func elements(
        _ node: UnsafeMutablePointer<json_t>
    ) throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        for index in 0..<(unsafe json_array_size(node)) {
            guard let element = unsafe json_array_get(node, index) else {
                throw .malformed(offset: 0)
            }
            elements.append(try unsafe JSONValue(element))
        }
        return elements
    }
}
