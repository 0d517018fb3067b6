import Bytes
import Protobuf

/// The messages of `envoy.service.ext_proc.v3.ExternalProcessor/Process`.
public enum EnvoyProcessing {
    /// The next message of Envoy.
    public enum Event {
        case requestHead(AskedRequest, mode: BodyMode, isEnd: Bool)
        /// A piece of the request's body, at this place in the message.
        case requestBody(Range<Int>, isEnd: Bool)
        case requestTrailers([AskedRequest.Field])
        case responseHead(status: UInt16, [AskedRequest.Field])
        /// A message that the gateway did not ask for.
        case other
    }

    /// The way in which Envoy shows a request's body.
    public enum BodyMode: Equatable, Sendable {
        /// Envoy does not show it.
        case none
        /// Envoy sends it in pieces without waiting for an answer, and sends on what the answers
        /// hold.
        case fullDuplex
        /// Envoy shows it in another way, in which a part could go on before the whole is known, or
        /// which is limited to a buffer.
        case other
    }

    /// Parses a `ProcessingRequest`.
    public static func read(_ bytes: Span<UInt8>) throws(QuestionFault) -> Event {
        do throws(ProtobufError) {
            return try event(bytes)
        } catch {
            throw QuestionFault("the message is not a ProcessingRequest, or has a field twice")
        }
    }

    private static func event(_ bytes: Span<UInt8>) throws(ProtobufError) -> Event {
        var found: (number: Int, range: Range<Int>)?
        var mode = BodyMode.none
        var isObserved = false
        var reader = ProtobufReader(byteCount: bytes.count)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 2...7:
                guard found == nil else { throw .repeated }
                found = (field.number, try field.bytes())
            case 10: isObserved = try field.flag()
            case 11: mode = try bodyMode(bytes, try field.bytes())
            default: break
            }
        }
        // If Envoy does not wait for an answer, the request goes on whatever the answer is.
        guard let found, !isObserved else { throw .malformed }
        switch found.number {
        case 2: return try requestHead(bytes, found.range, mode)
        case 3: return try responseHead(bytes, found.range)
        case 4: return try body(bytes, found.range)
        case 6:
            let map = try ProtobufReader.only(1, in: bytes, found.range)
            return .requestTrailers(try EnvoyHeaders.readMap(bytes, map ?? 0..<0))
        default: return .other
        }
    }

    /// Parses a `ProtocolConfiguration`.
    private static func bodyMode(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> BodyMode {
        var mode = BodyMode.none
        var reader = ProtobufReader(range)
        while let field = try reader.next(in: bytes) {
            guard field.number == 1 else { continue }
            switch try field.integer() {
            case 0: mode = .none
            case 4: mode = .fullDuplex
            default: mode = .other
            }
        }
        return mode
    }

    /// Parses an `HttpHeaders`.
    private static func headers(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> (
        pseudo: [[UInt8]: [UInt8]], fields: [AskedRequest.Field], isEnd: Bool
    ) {
        var isEnd = false
        var reader = ProtobufReader(range)
        while let field = try reader.next(in: bytes) {
            if field.number == 3 { isEnd = try field.flag() }
        }
        let map = try ProtobufReader.only(1, in: bytes, range)
        let (pseudo, fields) = try EnvoyHeaders.split(
            try EnvoyHeaders.readMap(bytes, map ?? 0..<0))
        return (pseudo, fields, isEnd)
    }

    private static func requestHead(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ mode: BodyMode
    ) throws(ProtobufError) -> Event {
        let (pseudo, fields, isEnd) = try headers(bytes, range)
        guard let method = pseudo[Self.method], let host = pseudo[Self.authority],
            let target = pseudo[Self.path] ?? AskedRequest.target(ofTunnel: method, to: host)
        else { throw .malformed }
        var asked = AskedRequest(method: method, target: target, host: host)
        asked.fields = fields
        asked.body = isEnd || mode == .fullDuplex ? .shown : .hidden
        return .requestHead(asked, mode: mode, isEnd: isEnd)
    }

    private static func responseHead(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> Event {
        let (pseudo, fields, _) = try headers(bytes, range)
        guard let text = pseudo[Self.status], let number = ASCII.decimal(text.span),
            let status = UInt16(exactly: number)
        else { throw .malformed }
        return .responseHead(status: status, fields)
    }

    /// True if a response came from an upstream and was not made by Envoy itself: Envoy's router
    /// marks each such response, unless `suppress_envoy_headers` is set.
    public static func isOfUpstream(_ fields: [AskedRequest.Field]) -> Bool {
        fields.contains { $0.name.map { ASCII.lowercased($0) } == serviceTime }
    }

    private static func body(
        _ bytes: Span<UInt8>, _ range: Range<Int>
    ) throws(ProtobufError) -> Event {
        var isEnd = false
        var reader = ProtobufReader(range)
        while let field = try reader.next(in: bytes) {
            if field.number == 2 { isEnd = try field.flag() }
        }
        return .requestBody(
            try ProtobufReader.only(1, in: bytes, range) ?? 0..<0, isEnd: isEnd)
    }

    private static let method = Array(":method".utf8)
    private static let path = Array(":path".utf8)
    private static let authority = Array(":authority".utf8)
    private static let status = Array(":status".utf8)
    private static let serviceTime = Array("x-envoy-upstream-service-time".utf8)
}

/// The answers of `envoy.service.ext_proc.v3.ExternalProcessor/Process`.
extension EnvoyProcessing {
    /// A message that lets a request's head go on.
    public static func requestHead(set: [EnvoyHeader], removed: [[UInt8]]) -> [UInt8] {
        head(1, set: set, removed: removed)
    }

    /// A message that lets a response's head go on. None of `set` may be among `removed`.
    public static func responseHead(set: [EnvoyHeader], removed: [[UInt8]]) -> [UInt8] {
        head(2, set: set, removed: removed)
    }

    /// A message that sends a piece of the request's body on.
    public static func requestBody(_ piece: [UInt8], isEnd: Bool) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(3) { body in
            body.message(1) { common in
                common.message(3) { mutation in
                    mutation.message(3) { streamed in
                        streamed.bytes(1, piece)
                        streamed.flag(2, isEnd)
                    }
                }
            }
        }
        return writer.bytes
    }

    /// A message that lets a request's trailers go on, without some.
    public static func requestTrailers(removed: [[UInt8]]) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(5) { trailers in
            trailers.message(1) { mutate(&$0, set: [], removed: removed) }
        }
        return writer.bytes
    }

    /// A message that answers the client instead of the upstream.
    public static func immediate(
        status: UInt16, headers: [EnvoyHeader], body: [UInt8]
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(7) { answer in
            answer.message(1) { $0.number(1, UInt64(status)) }
            answer.message(2) { mutate(&$0, set: headers, removed: []) }
            answer.bytes(3, body)
        }
        return writer.bytes
    }

    private static func head(
        _ number: Int, set: [EnvoyHeader], removed: [[UInt8]]
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(number) { headers in
            headers.message(1) { common in
                common.message(2) { mutate(&$0, set: set, removed: removed) }
            }
        }
        return writer.bytes
    }

    private static func mutate(
        _ mutation: inout ProtobufWriter, set: [EnvoyHeader], removed: [[UInt8]]
    ) {
        mutation.headers(1, set, isRaw: true)
        for name in removed { mutation.bytes(2, name) }
    }
}
