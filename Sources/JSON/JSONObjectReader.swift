import CJansson

/// Reads single top-level members of a JSON object without converting the rest.
///
/// The request path uses it to look into client data: one parse, and only the strings asked for are
/// copied. It returns nil for an absent member and for one of another type; ``has(_:)`` tells them
/// apart.
@safe
public struct JSONObjectReader: ~Copyable {
    private let document: JSONDocument

    public init(
        parsing bytes: Span<UInt8>, byteCountMax: Int, depthMax: Int = JSONDocument.depthMaxDefault
    ) throws(JSONError) {
        let document = try JSONDocument(
            parsing: bytes, byteCountMax: byteCountMax, depthMax: depthMax)
        guard document.isObject else { throw .notAnObject }
        self.document = document
    }

    public var memberCount: Int { document.memberCount }

    /// The UTF-8 bytes of a string member, decoded.
    public func string(_ name: StaticString) -> [UInt8]? {
        name.withUTF8Buffer { unsafe copyString($0) }
    }

    /// The string under a name that the operator chose, as ``string(_:)`` returns it.
    public func string(named name: String) -> [UInt8]? {
        var name = name
        return name.withUTF8 { unsafe copyString($0) }
    }

    /// The UTF-8 bytes of a string member where the parser keeps them.
    @_lifetime(borrow self)
    public func span(_ name: StaticString) -> Span<UInt8>? {
        guard let node = unsafe node(name), let bytes = unsafe stringBytes(node) else { return nil }
        let span = unsafe Span(_unsafeElements: bytes)
        return unsafe _overrideLifetime(span, borrowing: self)
    }

    public func integer(_ name: StaticString) -> Int64? {
        guard let node = unsafe node(name), unsafe node.pointee.type == JSON_INTEGER else {
            return nil
        }
        return unsafe Int64(json_integer_value(node))
    }

    /// The UTF-8 bytes of the string member `name` of the object `object`.
    public func string(_ name: StaticString, in object: StaticString) -> [UInt8]? {
        guard let node = unsafe node(object) else { return nil }
        return name.withUTF8Buffer { bytes in
            guard let member = unsafe jsonMember(of: node, bytes) else { return nil }
            return unsafe stringBytes(member).map { unsafe [UInt8]($0) }
        }
    }

    /// The strings of the array `name`, without its other elements; empty if there is no such
    /// array.
    public func strings(inArray name: StaticString) -> [String] {
        guard let node = unsafe node(name), unsafe node.pointee.type == JSON_ARRAY else {
            return []
        }
        return unsafe (0..<json_array_size(node)).compactMap { index in
            guard let element = unsafe json_array_get(node, index),
                let bytes = unsafe stringBytes(element)
            else { return nil }
            return unsafe String(decoding: bytes, as: UTF8.self)
        }
    }

    /// True if the array `name` holds the string `text`.
    public func contains(_ text: String, inArray name: StaticString) -> Bool {
        guard let node = unsafe node(name), unsafe node.pointee.type == JSON_ARRAY else {
            return false
        }
        for index in unsafe 0..<json_array_size(node) {
            guard let element = unsafe json_array_get(node, index),
                let bytes = unsafe stringBytes(element)
            else { continue }
            if unsafe bytes.elementsEqual(text.utf8) { return true }
        }
        return false
    }

    public func has(_ name: StaticString) -> Bool { unsafe node(name) != nil }

    public func has(named name: String) -> Bool {
        var name = name
        return name.withUTF8 { unsafe document.member($0) != nil }
    }

    private func node(_ name: StaticString) -> UnsafeMutablePointer<json_t>? {
        name.withUTF8Buffer { unsafe document.member($0) }
    }

    private func copyString(_ name: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let node = unsafe document.member(name) else { return nil }
        return unsafe stringBytes(node).map { unsafe [UInt8]($0) }
    }
}
