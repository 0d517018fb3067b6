/// Reads YAML 1.1 text into a tree that knows where each part came from.
///
/// Strict, because unexpected syntax can hide a setting: one document, no anchors, aliases, tags,
/// directives or merge keys; keys are scalars. Scalars stay texts: `off` is the text `off`.
/// Duplicate keys are kept, so that the caller can name both places.
public enum YAMLDocument {
    public static let byteCountMaxDefault = 1024 * 1024
    public static let depthMaxDefault = 32

    public static func parse(
        _ bytes: Span<UInt8>, byteCountMax: Int = byteCountMaxDefault,
        depthMax: Int = depthMaxDefault
    ) throws(YAMLError) -> YAMLNode {
        guard bytes.count <= byteCountMax else {
            throw YAMLError(.tooLarge(byteCountMax: byteCountMax), at: .init(line: 1, column: 1))
        }
        var events = try EventReader(withoutByteOrderMark(bytes))
        var builder = TreeBuilder(depthMax: depthMax)
        return try builder.document(&events)
    }

    public static func parse(_ text: String) throws(YAMLError) -> YAMLNode {
        try parse(Array(text.utf8).span)
    }

    /// The bytes without a byte order mark, which libyaml would count as a column, so that `---`
    /// became a text.
    @_lifetime(copy bytes)
    private static func withoutByteOrderMark(_ bytes: Span<UInt8>) -> Span<UInt8> {
        guard bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF else {
            return bytes
        }
        return bytes.extracting(droppingFirst: 3)
    }
}

/// Makes the tree from the parser's events, refusing what ``YAMLDocument`` does not accept.
private struct TreeBuilder {
    let depthMax: Int

    mutating func document(_ events: inout EventReader) throws(YAMLError) -> YAMLNode {
        var root: YAMLNode?
        while true {
            let event = try events.next()
            switch event.kind {
            case .streamStart, .documentEnd: continue
            case .documentStart(let hasDirectives):
                if hasDirectives { throw YAMLError(.directive, at: event.mark) }
                if root != nil { throw YAMLError(.secondDocument, at: event.mark) }
            case .streamEnd:
                guard let root else { throw YAMLError(.empty, at: event.mark) }
                return root
            default: root = try node(event, &events, depth: 0)
            }
        }
    }

    private mutating func node(
        _ event: EventReader.Event, _ events: inout EventReader, depth: Int
    ) throws(YAMLError) -> YAMLNode {
        guard depth <= depthMax else {
            throw YAMLError(.tooDeep(depthMax: depthMax), at: event.mark)
        }
        switch event.kind {
        case .scalar(let text, let isPlain):
            return YAMLNode(kind: .scalar(text, isPlain: isPlain), mark: event.mark)
        case .sequenceStart:
            var elements: [YAMLNode] = []
            while true {
                let next = try events.next()
                if case .sequenceEnd = next.kind { break }
                elements.append(try node(next, &events, depth: depth + 1))
            }
            return YAMLNode(kind: .sequence(elements), mark: event.mark)
        case .mappingStart:
            var entries: [YAMLEntry] = []
            while true {
                let next = try events.next()
                if case .mappingEnd = next.kind { break }
                entries.append(try entry(next, &events, depth: depth + 1))
            }
            return YAMLNode(kind: .mapping(entries), mark: event.mark)
        default: throw YAMLError(.syntax("unexpected end"), at: event.mark)
        }
    }

    private mutating func entry(
        _ event: EventReader.Event, _ events: inout EventReader, depth: Int
    ) throws(YAMLError) -> YAMLEntry {
        guard case .scalar(let key, let isPlain) = event.kind else {
            throw YAMLError(.complexKey, at: event.mark)
        }
        if isPlain, key == "<<" { throw YAMLError(.mergeKey, at: event.mark) }
        let value = try node(events.next(), &events, depth: depth)
        return YAMLEntry(key: key, keyMark: event.mark, value: value)
    }
}
