import EventLoop
import HTTPSClient

extension HTTPSRequest {
    /// A question for a JSON document.
    static func document(at url: String) -> HTTPSRequest {
        HTTPSRequest(url: url, method: .get, fields: [HTTPSField("Accept", "application/json")])
    }
}

extension HTTPSClient {
    /// Asks once and waits for the answer, for `doctor`. Blocks.
    static func fetch(
        _ request: HTTPSRequest, _ configuration: HTTPSConfiguration
    ) throws -> Result<HTTPSResponse, HTTPSFailure> {
        let loop = try EventLoop()
        let client = try HTTPSClient(loop: loop, configuration)
        var answer = Result<HTTPSResponse, HTTPSFailure>.failure(.closed)
        client.send(request) { result in
            answer = result
            loop.stop()
        }
        loop.run()
        client.close()
        return answer
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
