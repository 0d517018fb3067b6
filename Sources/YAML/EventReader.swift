import CYAML

/// libyaml's parser as a source of Swift events; anchors, aliases and tags are errors.
@safe
struct EventReader: ~Copyable {
    struct Event {
        enum Kind {
            case streamStart
            case streamEnd
            case documentStart(hasDirectives: Bool)
            case documentEnd
            case scalar(String, isPlain: Bool)
            case sequenceStart
            case sequenceEnd
            case mappingStart
            case mappingEnd
        }

        let kind: Kind
        let mark: YAMLMark
    }

    /// The parser, on the heap because libyaml keeps pointers into the struct.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let text: UnsafeMutableBufferPointer<UInt8>

    init(_ bytes: Span<UInt8>) throws(YAMLError) {
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        unsafe parser.initialize(to: yaml_parser_t())
        guard unsafe yaml_parser_initialize(parser) == 1 else {
            // deinit does not run while a property is missing, so this frees the parser.
            unsafe parser.deallocate()
            throw YAMLError(.outOfMemory, at: YAMLMark(line: 1, column: 1))
        }
        unsafe text = .allocate(capacity: bytes.count)
        for index in bytes.indices { unsafe text.initializeElement(at: index, to: bytes[index]) }
        unsafe self.parser = unsafe parser
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe text.deallocate()
    }

    mutating func next() throws(YAMLError) -> Event {
        var event = unsafe yaml_event_t()
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { unsafe yaml_event_delete(&event) }
        let mark = unsafe YAMLMark(event.start_mark)
        let kind: Event.Kind
        switch unsafe event.type {
        case YAML_STREAM_START_EVENT: kind = .streamStart
        case YAML_DOCUMENT_START_EVENT:
            let start = unsafe event.data.document_start
            kind = unsafe .documentStart(
                hasDirectives: start.version_directive != nil
                    || start.tag_directives.start != start.tag_directives.end)
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_SCALAR_EVENT: kind = try unsafe scalar(event.data.scalar, at: mark)
        case YAML_SEQUENCE_START_EVENT:
            let start = unsafe event.data.sequence_start
            try unsafe refuse(anchor: start.anchor, tag: start.tag, at: mark)
            kind = .sequenceStart
        case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            let start = unsafe event.data.mapping_start
            try unsafe refuse(anchor: start.anchor, tag: start.tag, at: mark)
            kind = .mappingStart
        case YAML_MAPPING_END_EVENT: kind = .mappingEnd
        case YAML_ALIAS_EVENT: throw YAMLError(.alias, at: mark)
        default: kind = .streamEnd
        }
        return Event(kind: kind, mark: mark)
    }

    private func scalar(
        _ scalar: yaml_event_s.__Unnamed_union_data.__Unnamed_struct_scalar, at mark: YAMLMark
    ) throws(YAMLError) -> Event.Kind {
        try unsafe refuse(anchor: scalar.anchor, tag: scalar.tag, at: mark)
        let bytes = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
        // `"\0"` writes a NUL in YAML, which no setting may hold.
        if unsafe bytes.contains(0) { throw YAMLError(.notUTF8, at: mark) }
        return unsafe .scalar(
            String(decoding: bytes, as: UTF8.self),
            isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE)
    }

    private func refuse(
        anchor: UnsafeMutablePointer<yaml_char_t>?, tag: UnsafeMutablePointer<yaml_char_t>?,
        at mark: YAMLMark
    ) throws(YAMLError) {
        if unsafe anchor != nil { throw YAMLError(.anchor, at: mark) }
        if unsafe tag != nil { throw YAMLError(.tag, at: mark) }
    }

    private func failure() -> YAMLError {
        let state = unsafe parser.pointee
        switch unsafe state.error {
        case YAML_MEMORY_ERROR:
            return YAMLError(.outOfMemory, at: YAMLMark(line: 1, column: 1))
        case YAML_READER_ERROR:
            return unsafe YAMLError(.notUTF8, at: mark(ofByte: state.problem_offset))
        default:
            let mark = unsafe YAMLMark(state.problem_mark)
            if unsafe byte(state.problem_mark) == 0x09 {
                return YAMLError(.tabIndentation, at: mark)
            }
            var problem = unsafe state.problem.map { unsafe String(cString: $0) } ?? "unreadable"
            if let context = unsafe state.context {
                problem += unsafe " " + String(cString: context)
            }
            return YAMLError(.syntax(problem), at: mark)
        }
    }

    /// The byte at a mark, which counts characters.
    private func byte(_ mark: yaml_mark_t) -> UInt8? {
        var character = 0
        for offset in 0..<(unsafe text.count) {
            let byte = unsafe text[offset]
            guard byte & 0xC0 != 0x80 else { continue }
            if character == mark.index { return byte }
            character += 1
        }
        return nil
    }

    private func mark(ofByte offset: Int) -> YAMLMark {
        var line = 1
        var column = 1
        for index in 0..<max(0, min(offset, unsafe text.count)) {
            let byte = unsafe text[index]
            guard byte & 0xC0 != 0x80 else { continue }
            column += 1
            if byte == 0x0A {
                line += 1
                column = 1
            }
        }
        return YAMLMark(line: line, column: column)
    }
}

extension YAMLMark {
    fileprivate init(_ mark: yaml_mark_t) {
        self.init(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1)
    }
}
