import Bytes
import EventLoop
import HTTP
import Judgement
import Questions
import Settings

extension CheckCall {
    /// Replaces the call by the request that it describes, which is read as strictly as one that
    /// came itself. A call that is not a question stays as it is.
    func readQuestion(_ dialect: CheckDialect) throws(Refusal) {
        guard let form = CheckForm.of(dialect), head.targetForm == .origin else { return }
        let bytes = headBytes.span
        let call = bytes.extracting(head.originTarget)
        guard let rest = form.rest(of: call) else { return }
        guard let peer = client.peer, client.listener.answers(peer) else {
            throw Refusal(.notFound, .checkPeer)
        }
        let method = try said(form.method, else: head.method)
        let target: Range32
        if let header = form.target {
            target = try said(header)
        } else {
            target = Range32(
                start: head.originTarget.start + UInt32(rest.lowerBound),
                count: UInt32(rest.count))
        }
        // Only nginx may leave the host to the call's own `Host`, as its snippets do.
        let host =
            dialect == .forward
            ? try said(form.host, else: .empty) : try said(form.host, orElse: head.host)
        let body = try shownBody(form, of: bytes.extracting(method))
        var text = ByteBuffer(capacity: bytes.count + 64)
        text.append(bytes.extracting(method))
        text.append(" ")
        text.append(bytes.extracting(target))
        text.append(head.version == .http10 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n")
        if let host {
            text.append("Host: ")
            text.append(bytes.extracting(host))
            text.append("\r\n")
        }
        let showsBody = form.partial != nil && body == .shown
        for field in head.fields
        where !form.leavesOut(field, in: bytes, showsBody: showsBody) {
            text.append(line: field, of: bytes)
        }
        text.append("\r\n")
        try become(
            text.readable.array, CheckQuestion(body: body, isHead: head.methodKind == .head))
        // Envoy gets the names of the headers to remove with the answer.
        if dialect != .envoy { try refuseUnwanted() }
    }

    /// Replaces the call by the request `asked`, which it describes.
    func become(_ asked: AskedRequest, answered form: CheckQuestion.Form) throws(Refusal) {
        guard let (text, fieldCount) = asked.head(version: head.version) else {
            throw Refusal(
                .badRequest, .checkCall,
                explanation: "A part of the request is empty, or holds a character it cannot have.")
        }
        let body: CheckQuestion.Body =
            switch asked.body {
            case .shown: .shown
            case .hidden: .hidden
            case .hashed(let digest): .hashed(digest)
            }
        var question = CheckQuestion(body: body, isHead: head.methodKind == .head)
        question.form = form
        try become(
            text, question, client: asked.client.flatMap { SocketAddress(ipBytes: $0, port: 0) })
        // The head holds more or fewer fields than the proxy described, so it must not pass.
        guard head.fields.count == fieldCount else { throw Refusal(.badRequest, .checkCall) }
    }

    private func become(
        _ bytes: [UInt8], _ question: CheckQuestion, client address: SocketAddress? = nil
    ) throws(Refusal) {
        // Ranges into the call's head are wrong in the request's. A refusal of that head must not
        // read them either.
        exchange.arrival.trustedRequestID = nil
        exchange.client.knownOrigin = address.map {
            Optional(ClientOrigin(address: $0, isCertain: true))
        }
        exchange.client.isOriginSaid = address != nil
        intake.replaceHead(with: bytes)
        // From here on, refusals are answered in the form of the call.
        state.question = question
        switch intake.parseHead(bytes.span) {
        case .complete where head.byteCount == bytes.count: break
        case .refused(let refusal):
            throw Refusal(refusal.gatewayReason, .httpFault(refusal.reason))
        case .complete, .incomplete:
            throw Refusal(
                .badRequest, .checkHeader,
                explanation: "The described request has no complete head.")
        }
        intake.completeTarget()
        if client.isPeerTrusted { exchange.arrival.trustedRequestID = intake.usableRequestID() }
    }

    // MARK: the headers of the proxy

    /// The value of a header that must be there; `fallback` if the dialect does not have it.
    private func said(
        _ header: CheckForm.Header?, else fallback: Range32
    ) throws(Refusal) -> Range32 {
        guard let header else { return fallback }
        return try said(header)
    }

    private func said(_ header: CheckForm.Header) throws(Refusal) -> Range32 {
        guard let found = try one(header) else { throw header.isMissing }
        guard !found.isEmpty else { throw header.isWrong }
        return found
    }

    private func said(
        _ header: CheckForm.Header?, orElse fallback: Range32?
    ) throws(Refusal) -> Range32? {
        guard let header, let found = try one(header) else { return fallback }
        guard !found.isEmpty else { throw header.isWrong }
        return found
    }

    /// The header's value; nil without the header. A field in another spelling is the client's, and
    /// the proxy has let it through.
    private func one(_ header: CheckForm.Header) throws(Refusal) -> Range32? {
        let bytes = headBytes.span
        var found: Range32?
        for field in head.fields {
            let name = bytes.extracting(field.name)
            guard header.names.contains(name) else { continue }
            guard !rewriter.isDisguised(name) else { throw Self.disguised }
            guard found == nil else { throw header.isWrong }
            found = field.value
        }
        return found
    }

    // MARK: the body

    private func shownBody(
        _ form: CheckForm, of method: Span<UInt8>
    ) throws(Refusal) -> CheckQuestion.Body {
        let bytes = headBytes.span
        let isCallBodiless = head.framing == .none || head.framing == .length(0)
        if let partial = form.partial {
            // Envoy sends this header if it shows bodies at all.
            if let word = try one(partial) {
                let value = bytes.extracting(word)
                if ASCII.equals(value, Self.words.no) { return .shown }
                guard ASCII.equals(value, Self.words.yes) else { throw partial.isWrong }
                return .hidden
            }
            return isCallBodiless && Self.isUsuallyBodiless(method) ? .shown : .hidden
        }
        guard isCallBodiless else { throw Refusal(.badRequest, .checkBody) }
        if let coding = form.coding, try one(coding) != nil { return .hidden }
        if let length = form.length, let announced = try one(length) {
            let digits = bytes.extracting(announced)
            guard let count = ASCII.decimal(digits) else { throw length.isWrong }
            return count == 0 ? .shown : .hidden
        }
        return Self.isUsuallyBodiless(method) ? .shown : .hidden
    }

    /// True if such requests have no body as a rule. HTTP/2 needs no length, so no field tells.
    private static func isUsuallyBodiless(_ method: Span<UInt8>) -> Bool {
        bodilessMethods.contains { ASCII.equals(method, $0) }
    }

    private static let bodilessMethods = ["GET", "HEAD", "OPTIONS"].map { Array($0.utf8) }
    private static let words = (yes: Array("true".utf8), no: Array("false".utf8))
}
