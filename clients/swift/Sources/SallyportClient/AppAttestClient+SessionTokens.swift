import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A session token, which one assertion has paid for. Its holder can send it, so protect it like a
/// session cookie.
public struct SessionToken: Codable, Sendable, Equatable {
    /// The header in which a request carries a token.
    public static let headerName = HeaderName.token

    /// The header's value.
    public let text: String
    /// The time until which it may be sent. A tenth of its life is left then, for requests on their
    /// way.
    public let until: Date
    /// The value of the header that it is bound to.
    let binding: String?
    /// The key that paid for it.
    let keyID: String?
}

extension AppAttestClient {
    /// Returns a session token for a process that cannot sign, such as an extension: the one that
    /// the client has, or one that an assertion has just paid for.
    ///
    /// - Parameters:
    ///   - value: The value of ``Configuration/sessionTokenHeader`` in the requests that the token
    ///     is for.
    ///   - refused: The text of a token that was refused with `token_invalid`, which the client
    ///     then forgets.
    /// - Throws: The errors of ``send(_:body:proof:)``, and the reason if there is no proof now.
    ///   Without App Attest it is ``ClientError/unsupported``.
    public func sessionToken(
        boundTo value: String? = nil, insteadOf refused: String? = nil
    ) async throws -> SessionToken {
        try requireSupport()
        if let refused, session?.text == refused { session = nil }
        if let session, session.until > clock.now(), session.binding == value { return session }
        // Callers at the same time share one.
        if let task = sessionTasks[value] { return try await task.valueForCaller() }
        let task = Task {
            defer { self.sessionTasks[value] = nil }
            return try await self.freshToken(boundTo: value)
        }
        sessionTasks[value] = task
        return try await task.valueForCaller()
    }

    /// The token for a request with the header that tokens are bound to.
    func sessionToken(for request: URLRequest) async throws -> SessionToken {
        let header = configuration.sessionTokenHeader
        return try await sessionToken(
            boundTo: header.flatMap { request.value(forHTTPHeaderField: $0) })
    }

    /// Forgets a token that was refused, unless it was replaced already.
    func giveUpToken(_ token: SessionToken?) {
        if session == token { session = nil }
    }

    private struct TokenAnswer: Decodable {
        var token: String
        var expiresIn: TimeInterval

        enum CodingKeys: String, CodingKey {
            case token
            case expiresIn = "expires_in"
        }
    }

    private func freshToken(boundTo binding: String?) async throws -> SessionToken {
        var question = URLRequest(url: configuration.gateway.appendingPathComponent("assert/token"))
        question.httpMethod = "POST"
        if let header = configuration.sessionTokenHeader, let binding {
            question.setValue(binding, forHTTPHeaderField: header)
        }
        let transport = transport
        let answer = try await deliver(
            question, .none, .assertion, whenUnproved: .fail
        ) { request, body in
            try await Answer(transport.send(request, body))
        }
        guard answer.response.statusCode == 200,
            let members = try? JSONDecoder().decode(TokenAnswer.self, from: answer.content)
        else { throw ClientError.unexpectedAnswer(status: answer.response.statusCode) }
        let token = SessionToken(
            text: members.token, until: clock.now().addingTimeInterval(members.expiresIn * 0.9),
            binding: binding, keyID: answer.keyID)
        // The key may have been given up while its token was on its way.
        if try enrolmentState().keyID == token.keyID { session = token }
        return token
    }
}
