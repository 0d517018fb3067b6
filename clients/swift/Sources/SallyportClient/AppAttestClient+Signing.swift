import DeviceCheck
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A request with an assertion.
struct SignedRequest: Sendable {
    let request: URLRequest
    let body: RequestBody
    let keyID: String
}

extension AppAttestClient {
    /// The number of failures to sign in a row after which a key is given up. Some keys never sign
    /// again, although the device does not report them as gone.
    private static let failureMax = 3

    /// Adds an assertion. If the key does not sign any more, or is gone because the app was
    /// installed anew or the device restored, another key is enrolled, once.
    func signed(_ request: URLRequest, _ body: RequestBody) async throws -> SignedRequest {
        let keyID = try await enrolledKey()
        do {
            return try await signed(request, body, by: keyID)
        } catch let error as DCError {
            guard try isUseless(keyID, after: error), try giveUpKey(keyID) else { throw error }
            return try await signed(request, body, by: enrolledKey())
        }
    }

    private func isUseless(_ keyID: String, after error: DCError) throws -> Bool {
        guard try enrolmentState().keyID == keyID else { return true }
        return try error.code == .invalidKey
            || error.mayBlameKey && enrolmentState().failureCount >= Self.failureMax
    }

    private func signed(
        _ request: URLRequest, _ body: RequestBody, by keyID: String
    ) async throws -> SignedRequest {
        let challenge = try await assertionChallenge(for: keyID)
        let headers = configuration.headers
        var request = request
        var body = body
        let clientData: Data
        switch configuration.shape {
        case .header:
            // Sessions send it as it is, and the gateway compares it with the signed one.
            request.httpMethod = request.httpMethod?.uppercased()
            clientData = try ClientData.header(request, challenge: challenge, body: body)
            request.setValue(
                clientData.base64EncodedString(), forHTTPHeaderField: headers.clientData)
        case .body(let member):
            clientData = try ClientData.body(body, challenge: challenge, member: member)
            body = .data(clientData)
        }
        let assertion = try await assertion(by: keyID, over: ClientData.hash(clientData))
        request.setValue(assertion.base64EncodedString(), forHTTPHeaderField: headers.assertion)
        request.setValue(keyID, forHTTPHeaderField: headers.keyID)
        return SignedRequest(request: request, body: body, keyID: keyID)
    }

    /// Returns an assertion, and counts failures in a row. Failures at the same time count as one.
    private func assertion(by keyID: String, over hash: Data) async throws -> Data {
        let failureCount = try enrolmentState().failureCount
        do {
            let assertion = try await service.generateAssertion(keyID, clientDataHash: hash)
            countFailures(0, of: keyID)
            return assertion
        } catch {
            note(.assert, error, attempt: failureCount + 1)
            if let error = error as? DCError, error.mayBlameKey {
                countFailures(failureCount + 1, of: keyID)
            }
            throw error
        }
    }

    private func countFailures(_ count: Int, of keyID: String) {
        guard var next = state, next.keyID == keyID, next.failureCount != count else { return }
        next.failureCount = count
        // Signing the request matters more than saving the state.
        try? keep(next)
    }

    /// The newest challenge that an answer brought, or a fresh one.
    private func assertionChallenge(for keyID: String) async throws -> String {
        if let kept = challenges.take(at: clock.now()) { return kept }
        let answer: ChallengeAnswer
        do {
            answer = try await challenge(at: "assert/challenge", [("key_id", keyID.urlSafe)])
        } catch {
            note(.challenge, error)
            throw error
        }
        if let lifetime = answer.expiresIn { challenges.learn(lifetime: lifetime) }
        return answer.challenge
    }

    struct ChallengeAnswer: Decodable {
        var challenge: String
        var expiresIn: TimeInterval?
        var retry: RetryAdvice?

        enum CodingKeys: String, CodingKey {
            case challenge, retry
            case expiresIn = "expires_in"
        }
    }

    func challenge(
        at path: String, _ query: [(String, String)]
    ) async throws -> ChallengeAnswer {
        var parts = URLComponents(
            url: configuration.gateway.appendingPathComponent(path), resolvingAgainstBaseURL: true)
        parts?.queryItems = query.map { URLQueryItem(name: $0, value: $1) }
        guard let url = parts?.url else {
            throw ClientError.invalidRequest("the gateway's URL is not valid")
        }
        var request = URLRequest(url: url)
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let (data, response) = try await transmit(request, .none)
        if let refusal = Refusal(data, response) { throw ClientError.refused(refusal) }
        guard response.statusCode == 200,
            let answer = try? JSONDecoder().decode(ChallengeAnswer.self, from: data)
        else { throw ClientError.unexpectedAnswer(status: response.statusCode) }
        return answer
    }

    // MARK: other proofs

    /// The proof of a device without App Attest.
    func standIn(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        if let token = configuration.developerToken {
            request.setValue(token, forHTTPHeaderField: HeaderName.token)
        } else if deviceTokens.isSupported {
            do {
                let token = try await deviceTokens.generateToken()
                request.setValue(
                    token.base64EncodedString(), forHTTPHeaderField: HeaderName.deviceToken)
            } catch {
                note(.token, error)
                throw error
            }
        } else {
            throw ClientError.unsupported
        }
        return request
    }
}

extension DCError {
    /// True if another key may succeed. It would not if the reason is Apple's servers or the
    /// device.
    fileprivate var mayBlameKey: Bool {
        code != .serverUnavailable && code != .featureUnsupported
    }
}

extension String {
    /// Base64 in the alphabet that URLs do not escape.
    var urlSafe: String {
        replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
