import Bytes
import HTTP
import JSON
import Judgement

/// Answers to questions that are asked in messages: their fields are told, not sent.
extension CheckCall {
    /// `response` as whoever asked gets it: itself, or an object that tells it.
    func told(_ response: LocalResponse) -> LocalResponse {
        guard question?.form == .inJSON else { return response }
        var writer = JSONWriter()
        writer.beginObject()
        let isAllowed = question?.isAllowed == true
        writer.member("allow", bool: isAllowed)
        writer.member("status", int: Int64(response.status))
        writer.beginObject("headers")
        for field in toldFields(of: response) + response.verdict
        where !(response.isOfRoute && Self.describesBody(field.name)) {
            writer.member(
                named: String(decoding: field.name, as: UTF8.self),
                value: .string(String(decoding: field.value, as: UTF8.self)))
        }
        writer.endObject()
        if isAllowed {
            writer.beginArray("remove")
            // Also those that `headers` sets: whoever adds them must not have the client's beside.
            for name in namesToRemove(besides: []) {
                writer.element(string: String(decoding: name, as: UTF8.self))
            }
            writer.endArray()
        }
        if isAllowed || response.isOfRoute {
            writer.beginObject("problem")
            writer.endObject()
        } else {
            writer.member("problem", text: response.body.span)
        }
        writer.endObject()
        var told = LocalResponse(
            status: 200, contentType: "application/json", body: writer.finish().readable.array)
        told.fields.append(("Cache-Control", Array("no-store".utf8)))
        return told
    }

    /// Whether a field speaks of the body, which the object does not tell if it is a route's own.
    private static func describesBody(_ name: [UInt8]) -> Bool {
        ASCII.equalsIgnoringCase(name.span, lowercase: contentType)
            || ASCII.equalsIgnoringCase(name.span, lowercase: contentLength)
    }

    private static let contentType = Array("content-type".utf8)
    private static let contentLength = Array("content-length".utf8)

    /// The fields of the answer that the client is to get, each name once.
    func toldFields(of response: LocalResponse) -> [(name: [UInt8], value: [UInt8])] {
        var fields: [(name: [UInt8], value: [UInt8])] = []
        func add(_ name: StaticString, _ value: [UInt8]) {
            fields.append((Array(name.description.utf8), value))
        }
        if let contentType = response.contentType {
            add("Content-Type", Array(contentType.description.utf8))
        }
        for field in response.fields { add(field.name, field.value) }
        if recorder.tellsRequestID(isOfRoute: response.isOfRoute) {
            var text = ByteBuffer(capacity: 64)
            rewriter.appendRequestID(to: &text)
            add("X-Request-Id", text.readable.array)
        }
        if response.isOfRoute, let edits = match.handling?.responseEdits {
            for line in edits.lines {
                var value = ByteBuffer()
                rewriter.append(line.value, to: &value)
                fields.append((line.name, value.readable.array))
            }
        }
        addAttestation(recorder.personalFields(of: response), add)
        // Where a route sets a field that the gateway has, too, the route's counts.
        var names: Set<[UInt8]> = []
        return fields.reversed().filter { field in
            names.insert(ASCII.lowercased(field.name.span)).inserted
        }.reversed()
    }

    private func addAttestation(
        _ fields: PersonalFields, _ add: (StaticString, [UInt8]) -> Void
    ) {
        let part = PersonalPart(fields, of: exchange)
        if part.isPrivate { add("Cache-Control", Array("private".utf8)) }
        if part.isOutdated { add("X-App-Attest-Action", Array("update_app".utf8)) }
        if let challenge = part.challenge {
            add("X-App-Attest-Challenge", worker.token(of: challenge))
        }
    }
}
