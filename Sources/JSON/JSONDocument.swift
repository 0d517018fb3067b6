import Bytes
import CJansson

/// One parsed JSON text (RFC 8259), held in the parser's own tree.
///
/// Strict: one value, UTF-8, no duplicate members, no NUL characters, nothing after the value.
@safe
public struct JSONDocument: ~Copyable {
    private let tree: UnsafeMutablePointer<json_t>

    /// The default depth, enough for every document that the gateway and its tools exchange.
    public static let depthMaxDefault = 16

    public init(
        parsing bytes: Span<UInt8>, byteCountMax: Int, depthMax: Int = depthMaxDefault
    ) throws(JSONError) {
        guard bytes.count <= byteCountMax else { throw .tooLarge(byteCountMax: byteCountMax) }
        guard !bytes.isEmpty else { throw .truncated }
        guard JSONNesting.isWithin(depthMax, bytes) else { throw .tooDeep(depthMax: depthMax) }
        // The parser skips a NUL that follows a number or a literal; the grammar allows none
        // anywhere.
        if let offset = Self.firstNUL(in: bytes) { throw .malformed(offset: offset) }
        Self.hasAllocator
        var report = json_error_t()
        let parsed = unsafe bytes.withUnsafeBytes { source in
            unsafe json_loadb(
                source.baseAddress, source.count,
                size_t(JSON_REJECT_DUPLICATES | JSON_DECODE_ANY), &report)
        }
        guard let parsed = unsafe parsed else { throw JSONError(report) }
        unsafe tree = parsed
    }

    deinit { unsafe json_decref(tree) }

    /// Set once, before the first parse.
    private static let hasAllocator: Void = sallyport_json_set_allocator()

    private static func firstNUL(in bytes: Span<UInt8>) -> Int? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        var index = 0
        // Eight at a time while none is zero.
        while index &+ 8 <= bytes.count {
            let word = bytes.littleEndianWord(at: index)
            guard (word &- ones) & ~word & (ones &* 0x80) == 0 else { break }
            index &+= 8
        }
        while index < bytes.count, bytes[index] != 0 { index &+= 1 }
        return index < bytes.count ? index : nil
    }

    /// The whole text as a value. Throws if two member names are the same in Swift.
    ///
    /// `String` treats canonically equivalent spellings (`é` and `e` + accent) as equal, the JSON
    /// grammar does not: choosing one of the two members would be a guess.
    public func value() throws(JSONError) -> JSONValue { try unsafe JSONValue(tree) }

    var isObject: Bool { unsafe tree.pointee.type == JSON_OBJECT }
    var memberCount: Int { unsafe Int(clamping: json_object_size(tree)) }

    func member(_ name: UnsafeBufferPointer<UInt8>) -> UnsafeMutablePointer<json_t>? {
        unsafe jsonMember(of: tree, name)
    }
}

/// The member of that name; nil if the value is no object, or has no such member.
func jsonMember(
    of node: UnsafeMutablePointer<json_t>, _ name: UnsafeBufferPointer<UInt8>
) -> UnsafeMutablePointer<json_t>? {
    guard let base = name.baseAddress else { return nil }
    return unsafe base.withMemoryRebound(to: CChar.self, capacity: name.count) { text in
        unsafe json_object_getn(node, text, name.count)
    }
}

/// A string's UTF-8 bytes in the tree; nil for every other kind of value.
func stringBytes(_ node: UnsafeMutablePointer<json_t>) -> UnsafeBufferPointer<UInt8>? {
    guard let text = unsafe json_string_value(node) else { return nil }
    let byteCount = unsafe json_string_length(node)
    return unsafe UnsafeBufferPointer(
        start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: byteCount)
}

extension JSONError {
    init(_ report: json_error_t) {
        let offset = Int(max(0, report.position))
        let code = unsafe withUnsafePointer(to: report) { unsafe json_error_code($0) }
        switch code {
        case json_error_premature_end_of_input: self = .truncated
        case json_error_end_of_input_expected: self = .trailingBytes(offset: offset)
        case json_error_duplicate_key: self = .duplicateMember(offset: offset)
        case json_error_null_character, json_error_null_byte_in_key:
            self = .nulCharacter(offset: offset)
        case json_error_invalid_utf8: self = .notUTF8(offset: offset)
        case json_error_numeric_overflow: self = .numberOutOfRange(offset: offset)
        case json_error_out_of_memory: self = .outOfMemory
        default: self = .malformed(offset: offset)
        }
    }
}
