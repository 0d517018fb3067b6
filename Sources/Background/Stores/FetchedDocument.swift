import HTTPSClient

extension HTTPSRequest {
    /// A question for a JSON document.
    static func document(at url: String) -> HTTPSRequest {
        HTTPSRequest(url: url, method: .get, fields: [HTTPSField("Accept", "application/json")])
    }
}

extension HTTPSResponse {
    /// The reason why an answer of another status than 200 is refused. A redirect is never
    /// followed, because the operator chooses the place. `server`: the name of who answered.
    func refusal(by server: String) -> String {
        "\(server) answered \(status)"
            + ((300..<400).contains(status) ? ", and redirects are not followed" : "")
    }
}
