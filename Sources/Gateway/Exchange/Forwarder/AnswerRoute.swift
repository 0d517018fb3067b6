import Attestation
import Bytes
import HTTP
import Judgement
import Policy
import Settings

/// The answers of routes without an upstream, and operators' texts with values from the request.
extension HeadRewriter {
    /// The answer of a route that has no upstream; nil for every other route.
    func answerRoute() -> Step? {
        guard let handling = match.handling, let answer = handling.answer else { return nil }
        // A verified or observed request is logged as such; passing without a judgement is no
        // decision.
        judge.forgetPass()
        var response: LocalResponse
        switch answer {
        case .redirect(let redirect): response = redirecting(redirect)
        case .respond(let fixed):
            response = LocalResponse(status: fixed.status, body: Array(fixed.body.utf8))
            let name = Array("content-type".utf8)
            if !fixed.body.isEmpty, handling.responseEdits?.removed.contains(name.span) != true {
                response.fields.append(("Content-Type", Array(fixed.contentType.utf8)))
            }
        }
        response.isOfRoute = true
        return exchange.answer(response)
    }

    /// The answer that redirects the client.
    func redirecting(_ redirect: Redirect) -> LocalResponse {
        var response = LocalResponse(status: redirect.status)
        var location = ByteBuffer(capacity: 256)
        append(redirect.location, to: &location)
        response.fields.append(("Location", location.readable.array))
        return response
    }

    /// Appends the headers that a route sets and adds.
    func append(_ edits: FieldEdits, to output: inout ByteBuffer) {
        for line in edits.lines {
            output.append(line.name)
            output.append(": ")
            append(line.value, to: &output)
            output.append("\r\n")
        }
    }

    /// Appends a template's text, with the value of each variable.
    func append(_ template: TextTemplate, to output: inout ByteBuffer) {
        for piece in template.pieces {
            switch piece {
            case .literal(let text): output.append(text)
            case .variable(let variable): append(variable, to: &output)
            }
        }
    }

    private func append(_ variable: TextVariable, to output: inout ByteBuffer) {
        let bytes = headBytes.span
        let target = bytes.extracting(head.originTarget)
        let pathCount = TargetRewrite.pathByteCount(target)
        switch variable {
        case .clientAddress: intake.appendClientAddress(to: &output)
        case .requestID: appendRequestID(to: &output)
        case .host:
            guard let host = head.host else { return output.append("localhost") }
            let authority = bytes.extracting(host)
            output.append(authority.extracting(first: RequestHost.nameByteCount(authority)))
        case .keyID:
            guard let provenKeyID = exchange.provenKeyID else { return }
            provenKeyID.appendBase64(to: &output)
        case .target: output.append(target)
        case .path: output.append(target.extracting(first: pathCount))
        case .query: output.append(target.extracting(pathCount..<target.count))
        case .rest:
            let path = target.extracting(first: pathCount)
            guard let routeIndex = match.routeIndex,
                let slashCount = TargetRewrite.slashCount(site.settings.routes[routeIndex].path),
                let start = TargetRewrite.restStart(of: path, slashCount)
            else { return }
            output.append(path.extracting(start..<path.count))
        }
    }
}
