import AppAttestTesting
import Bytes
import Crypto
import EventLoop
import HTTP

/// The real gateway behind a trial.
final class TrialGateway {
    private let address: SocketAddress
    /// The gateway's setting `endpoints.base`.
    let base: String
    private var connection: HTTPConnection?

    init(_ address: SocketAddress, base: String) {
        self.address = address
        self.base = base
    }

    /// Throws if no server accepts connections there.
    func reach() throws {
        do {
            _ = try HTTPConnection(address)
        } catch let error as IOError {
            throw LabError("the gateway \(address) does not answer: \(error.reason.text)")
        }
    }

    /// The gateway's answer; 502 if it gives none.
    func reply(to request: HTTPRequest) -> StandInReply {
        var request = request
        request.fields.removeAll { Self.framing.contains($0.name.lowercased()) }
        guard let answer = try? exchange(request) else {
            return StandInReply(status: 502, text: "the gateway does not answer\n")
        }
        var reply = StandInReply(status: answer.status, body: answer.body)
        reply.fields = answer.fields.filter { !Self.framing.contains($0.name.lowercased()) }
            .map { StandInReply.Field($0.name, $0.value) }
        return reply
    }

    /// A fresh challenge for an assertion of that key, or of any.
    func challenge(for keyID: String?) -> String? {
        let query =
            keyID.map {
                "?key_id=" + String($0.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
            } ?? ""
        let request = HTTPRequest(method: "GET", target: base + "assert/challenge" + query)
        guard let answer = try? exchange(request), answer.status == 200 else { return nil }
        return answer.text
    }

    /// Tries again over a new connection, because the gateway may have closed the old one
    /// meanwhile.
    private func exchange(_ request: HTTPRequest) throws -> HTTPAnswer {
        if let connection, let answer = try? connection.exchange(request) { return answer }
        let fresh = try HTTPConnection(address)
        connection = fresh
        return try fresh.exchange(request)
    }

    /// The fields of one connection, which are written anew for the other.
    private static let framing: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// The challenge that an answer brings for the next request.
    static func challenge(in reply: StandInReply) -> String? {
        reply.fields.first { $0.name.lowercased() == "x-app-attest-challenge" }?.value
    }

    /// The code with which a gateway refuses; nil if the answer is the API's.
    static func refusal(in reply: StandInReply) -> String? {
        HTTPAnswer(
            status: reply.status,
            fields: reply.fields.map { HTTPAnswer.Field(name: $0.name, value: $0.value) },
            body: reply.body
        ).code
    }

    /// A refusal in the gateway's form.
    static func refusal(
        _ status: Int, code: String, action: String, retryAfter: Int?, retry: String?,
        challenge: String?
    ) -> StandInReply {
        // The gateway says so about a request that it has passed on.
        let assertion = code == "upstream_failed" ? "spent" : "unspent"
        let id = Hex.encode(RandomBytes.bytes(16))
        let title = StatusPhrase.text(for: UInt16(status))
        var reply = StandInReply(
            status: status,
            text: """
                {"type":"about:blank","title":"\(title)","status":\(status),"code":"\(code)",\
                "action":"\(action)",\(retry.map { "\"retry\":\($0)," } ?? "")\
                "assertion":"\(assertion)","request_id":"\(id)"}
                """)
        reply.retryAfter = retryAfter.map { "\($0)" }
        reply.fields = [
            .init("Content-Type", "application/problem+json"), .init("Cache-Control", "no-store"),
            .init("X-Request-Id", id),
        ]
        if status == 401 {
            reply.fields.append(.init("WWW-Authenticate", "AppAttest error=\"\(code)\""))
        }
        if let challenge { reply.fields.append(.init("X-App-Attest-Challenge", challenge)) }
        return reply
    }
}
