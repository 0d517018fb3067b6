import EventLoop
import JSON

/// A request in the upstream's log; `-` for an absent field.
struct SeenRequest {
    let request: String
    /// The value of `X-Attest-Result`.
    let result: String
    /// The value of `X-Attest-Tier`.
    let tier: String
    /// The value of `X-Attest-Security-Level`.
    let level: String
    /// The value of `X-Attest-Key`.
    let key: String
    /// What the AI service did; nil for requests to nginx.
    var chat: SeenChat?
}

/// A request that the AI service accepted, with the operator's API key and no other.
struct SeenChat: Hashable {
    /// The tokens of the request and of the answer, as far as that came.
    let tokenCount: Int
    /// True if the gateway left before the answer's end.
    let endedEarly: Bool
}

/// What reached the upstreams, by rows of the demo. nginx writes lines `ROW METHOD URI RESULT TIER
/// LEVEL KEY`, and the AI service those of `sallyport-lab model`.
struct UpstreamLog {
    private var requests: [Int: SeenRequest] = [:]

    static let patience = Duration.seconds(10)

    /// Reads the logs once they have the lines of `rows`, which are written after the answers. If
    /// one does not come in time, its row is not as it should be.
    init(waitingFor rows: [Int], nginx: String, model: String) throws {
        let limit = MonotonicInstant.now() + Self.patience
        let loop = try EventLoop()
        while true {
            requests = try Self.read(nginx: nginx).merging(try Self.read(model: model)) { $1 }
            let isComplete = rows.allSatisfy { requests[$0] != nil }
            guard !isComplete, MonotonicInstant.now() < limit else { return }
            let timer = Timer(loop: loop) { loop.stop() }
            timer.schedule(after: .milliseconds(20))
            loop.run()
        }
    }

    private static func read(nginx path: String) throws -> [Int: SeenRequest] {
        var requests: [Int: SeenRequest] = [:]
        for line in try lines(path) {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 7, let row = Int(words[0]) else { continue }
            requests[row] = SeenRequest(
                request: words[1] + " " + words[2], result: words[3], tier: words[4],
                level: words[5], key: words[6])
        }
        return requests
    }

    private static func read(model path: String) throws -> [Int: SeenRequest] {
        var requests: [Int: SeenRequest] = [:]
        for line in try lines(path) {
            let bytes = Array(line.utf8)
            // The last line may be there in part.
            guard let members = try? JSONValue.parse(bytes.span, byteCountMax: 64 * 1024) else {
                continue
            }
            func field(_ name: String) -> String { members["fields"]?[name]?.stringValue ?? "-" }
            guard let row = Int(field(DemoScenario.rowField)),
                let method = members["method"]?.stringValue,
                let target = members["target"]?.stringValue
            else { continue }
            requests[row] = SeenRequest(
                request: method + " " + target, result: field("X-Attest-Result"),
                tier: field("X-Attest-Tier"), level: field("X-Attest-Security-Level"),
                key: field("X-Attest-Key"),
                chat: field(DemoScenario.clientKeyField) == "-" ? chat(members) : nil)
        }
        return requests
    }

    /// What the AI service did; nil if it refused the request.
    private static func chat(_ members: JSONValue) -> SeenChat? {
        guard members["status"]?.integerValue == 200,
            let prompt = members["prompt_tokens"]?.integerValue,
            let completion = members["completion_tokens"]?.integerValue,
            let endedEarly = members["ended_early"]?.boolValue
        else { return nil }
        return SeenChat(tokenCount: Int(prompt + completion), endedEarly: endedEarly)
    }

    private static func lines(_ path: String) throws -> [Substring] {
        String(decoding: try LabFile.read(path), as: UTF8.self).split(separator: "\n")
    }

    /// The request of a row, or nil if it never came.
    subscript(row: Int) -> SeenRequest? { requests[row] }
}
