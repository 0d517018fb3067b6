import Foundation

// URLSession has no such sequence on other systems.
#if canImport(Darwin)
    extension AppAttestClient {
        /// Sends a request with its proof and returns the API's answer as it comes.
        ///
        /// A client that signs in order sends its next request when the head of this answer has
        /// come, which shows that the counter was accepted.
        ///
        /// The request goes through the session of the client's transport, as every request does,
        /// so the session's pinning and its rule to keep no cookies hold here too.
        ///
        /// - Throws: As ``send(_:body:proof:)``; ``ClientError/invalidRequest(_:)`` if the client's
        ///   transport is no ``StreamingTransport``.
        public func bytes(
            for request: URLRequest, proof: Proof = .assertion
        ) async throws -> (URLSession.AsyncBytes, HTTPURLResponse) {
            guard let session = (transport as? any StreamingTransport)?.session else {
                throw ClientError.invalidRequest("the transport has no session to read from")
            }
            let body = try RequestBody.of(request, nil)
            let answer = try await deliver(request, body, proof) { request, body in
                var request = request
                if case .data(let data) = body { request.httpBody = data }
                let (bytes, response) = try await session.bytes(for: request, delegate: Stay())
                guard let response = response as? HTTPURLResponse else {
                    throw URLError(.badServerResponse)
                }
                let refusal = try await Self.refusal(bytes, response)
                return Answer(bytes, response, refusal: refusal)
            }
            return (answer.content, answer.response)
        }

        /// Reads a refusal. Reads nothing of an answer that cannot be one.
        private static func refusal(
            _ bytes: URLSession.AsyncBytes, _ response: HTTPURLResponse
        ) async throws -> Refusal? {
            guard Refusal.mayBe(response) else { return nil }
            var data = Data()
            for try await byte in bytes {
                data.append(byte)
                guard data.count <= Refusal.byteCountMax else { return nil }
            }
            return Refusal(data, response)
        }
    }
#endif
