import Bytes
import Protobuf

/// The messages of `envoy.service.auth.v3.Authorization/Check`.
public enum EnvoyCheck {
    /// The request in question, and the place of its body in the message.
    public struct Question {
        public var asked: AskedRequest
        public var body: Range<Int>
    }

    /// Parses a `CheckRequest`.
    public static func read(_ bytes: Span<UInt8>) throws(QuestionFault) -> Question {
        do throws(ProtobufError) {
            return try question(bytes)
        } catch {
            throw QuestionFault("the message is not a CheckRequest, or has a field twice")
        }
    }

    /// The ranges of the parts of an `AttributeContext` that are used.
    private struct Attributes {
        var method: Range<Int>?
        var target: Range<Int>?
        var host: Range<Int>?
        /// The headers as a map, in which Envoy has joined repeated ones.
        var joined: [AskedRequest.Field] = []
        var raw: Range<Int>?
        var text: Range<Int>?
        var bytes: Range<Int>?
        var extensions: [AskedRequest.Field] = []
    }

    private static func question(_ bytes: Span<UInt8>) throws(ProtobufError) -> Question {
        let context = try ProtobufReader.only(1, in: bytes, 0..<bytes.count)
        guard let context, let request = try ProtobufReader.only(4, in: bytes, context),
            let http = try ProtobufReader.only(2, in: bytes, request)
        else { throw .malformed }
        var attributes = try attributes(bytes, http)
        var reader = ProtobufReader(context)
        while let field = try reader.next(in: bytes) {
            guard field.number == 10 else { continue }
            attributes.extensions.append(
                try EnvoyHeaders.readPair(bytes, try field.bytes(), valueNumbers: 2...2))
        }
        var question = try question(attributes, bytes)
        question.asked.client = try address(bytes, context)
        return question
    }

    /// Parses an `HttpRequest`.
    private static func attributes(
        _ bytes: Span<UInt8>, _ http: Range<Int>
    ) throws(ProtobufError) -> Attributes {
        var attributes = Attributes()
        var reader = ProtobufReader(http)
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 2: try EnvoyHeaders.once(&attributes.method, field)
            case 3:
                attributes.joined.append(
                    try EnvoyHeaders.readPair(bytes, try field.bytes(), valueNumbers: 2...2))
            case 4: try EnvoyHeaders.once(&attributes.target, field)
            case 5: try EnvoyHeaders.once(&attributes.host, field)
            case 11: try EnvoyHeaders.once(&attributes.text, field)
            case 12: try EnvoyHeaders.once(&attributes.bytes, field)
            case 13: try EnvoyHeaders.once(&attributes.raw, field)
            default: break
            }
        }
        return attributes
    }

    private static func question(
        _ attributes: Attributes, _ bytes: Span<UInt8>
    ) throws(ProtobufError) -> Question {
        guard let method = attributes.method.map({ bytes.extracting($0).array }),
            let host = attributes.host.map({ bytes.extracting($0).array }),
            let target = attributes.target.map({ bytes.extracting($0).array })
                ?? AskedRequest.target(ofTunnel: method, to: host),
            attributes.raw == nil || attributes.joined.isEmpty,
            attributes.text == nil || attributes.bytes == nil
        else { throw .malformed }
        var asked = AskedRequest(method: method, target: target, host: host)
        let all = try attributes.raw.map { raw throws(ProtobufError) in
            try EnvoyHeaders.readMap(bytes, raw)
        }
        let fields = try EnvoyHeaders.split(all ?? attributes.joined).fields
        asked.fields = fields.filter { !isPartial($0.name) }
        let body = attributes.bytes ?? attributes.text ?? 0..<0
        let words = fields.filter { isPartial($0.name) }
        let word = attributes.extensions.filter { isPartial($0.name) }
        guard words.count <= 1, word.count <= 1 else { throw .malformed }
        asked.body = try told(word.first?.value, words.first?.value, of: asked, body)
        return Question(asked: asked, body: asked.body == .shown ? body : 0..<0)
    }

    /// The body as the operator describes it for a route, or as Envoy describes a body that is
    /// there, or else as the headers announce it. None of these makes a body whole that is not as
    /// long as the headers say.
    private static func told(
        _ ofRoute: [UInt8]?, _ ofEnvoy: [UInt8]?, of asked: AskedRequest, _ body: Range<Int>
    ) throws(ProtobufError) -> AskedRequest.Body {
        for word in [ofRoute, ofEnvoy] where word == Self.yes { return .hidden }
        for word in [ofEnvoy, ofRoute] {
            if word == Self.no {
                guard let isOther = asked.announcesOther(than: body.count) else {
                    throw .malformed
                }
                return isOther ? .hidden : .shown
            }
            guard word == nil else { throw .malformed }
        }
        guard let mayHaveBody = asked.mayHaveBody else { throw .malformed }
        return mayHaveBody || !body.isEmpty ? .hidden : .shown
    }

    private static func isPartial(_ name: [UInt8]) -> Bool {
        ASCII.equalsIgnoringCase(name.span, lowercase: partial)
    }

    private static let partial = Array("x-envoy-auth-partial-body".utf8)
    private static let (yes, no) = (Array("true".utf8), Array("false".utf8))

    /// The address of the source, which is the client from Envoy's view.
    private static func address(
        _ bytes: Span<UInt8>, _ context: Range<Int>
    ) throws(ProtobufError) -> [UInt8]? {
        guard let source = try ProtobufReader.only(1, in: bytes, context),
            let address = try ProtobufReader.only(1, in: bytes, source),
            let socket = try ProtobufReader.only(1, in: bytes, address),
            let text = try ProtobufReader.only(2, in: bytes, socket)
        else { return nil }
        return IPAddress.bytes(bytes.extracting(text).array[...])
    }
}

/// The answers of `envoy.service.auth.v3.Authorization/Check`.
extension EnvoyCheck {
    /// A `CheckResponse` that lets a request pass.
    ///
    /// - Parameters:
    ///   - set: headers for the upstream.
    ///   - removed: names that the upstream must not get. Envoy removes after it has set, so none
    ///     of `set` may be among them.
    ///   - told: headers for the client.
    public static func allowing(
        set: [EnvoyHeader], removed: [[UInt8]], told: [EnvoyHeader]
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.message(1) { $0.number(1, 0) }
        writer.message(3) { ok in
            ok.headers(2, set, isRaw: false)
            for name in removed { ok.bytes(5, name) }
            ok.headers(6, told, isRaw: false)
        }
        return writer.bytes
    }

    /// A `CheckResponse` that refuses a request.
    public static func denying(
        status: UInt16, headers: [EnvoyHeader], body: [UInt8]
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        // PERMISSION_DENIED; the client's answer is below.
        writer.message(1) { $0.number(1, 7) }
        writer.message(2) { denied in
            denied.message(1) { $0.number(1, UInt64(status)) }
            denied.headers(2, headers, isRaw: false)
            denied.bytes(3, body)
        }
        return writer.bytes
    }
}
