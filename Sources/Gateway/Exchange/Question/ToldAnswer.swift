import Bytes
import HTTP
import JSON
import Judgement

/// Answers to questions in messages, which contain the answer's fields as data.
extension CheckCall {
    /// The answer as the asking proxy gets it: `response` itself, or an object that describes it.
    func told(_ response: LocalResponse) -> LocalResponse {
        guard state.question?.form == .inJSON else { return response }
        var writer = JSONWriter()
        writer.beginObject()
        let isAllowed = state.question?.isAllowed == true
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
            // These include the names in `headers`: a proxy must not forward the client's values
            // next to those.
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

    /// True for a field about the body. The object leaves a route's own body out.
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
        // If a route sets a field that the gateway sets as well, the route's value counts.
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
            add("X-App-Attest-Challenge", services.token(of: challenge))
        }
    }
}
