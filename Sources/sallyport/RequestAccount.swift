import Attestation
import Bytes
import JSON
import Judgement

/// The account of a request: what was asked, what was decided, why, whose fault it is, what to do.
struct RequestAccount {
    private let requestID: String
    private let request: FoundRequest
    private let capture: CaptureReading?
    private let missesCapture: Bool
    private let explanation: CauseExplanation?

    /// `missesCapture`: `capture` is configured and has no file of this request.
    init(
        requestID: String, _ request: FoundRequest, _ capture: CaptureReading?,
        missesCapture: Bool = false
    ) {
        self.requestID = requestID
        self.missesCapture =
            missesCapture && CaptureReading.isKept(request)
        self.request = request
        self.capture = capture
        explanation = CauseExplanation.find(
            reason: request.text("reason") ?? "", detail: request.text("detail"))
    }

    // MARK: for people

    var text: String {
        var rows: [(String, String)] = [
            ("request", requestID), ("asked", asked), ("from", sender), ("app", app),
            ("route", request.text("route") ?? ""), ("decided", decided), ("cause", cause),
            ("meaning", explanation?.meaning ?? "This version does not know this cause."),
            ("fault", explanation?.fault.words ?? "not known"),
            ("remedy", explanation?.remedy ?? "See the documents of the gateway's version."),
            ("try", quotaCommand ?? ""), ("upstream", upstream), ("found in", request.source),
        ]
        if let capture { rows.append(("captured", capture.path)) }
        if missesCapture { rows.append(("captured", "nothing: " + CaptureReading.reasonsToMiss)) }
        if let line = capture?.requestLine { rows.append(("compared", line)) }
        var lines = rows.filter { !$0.1.isEmpty }.flatMap(Self.lines)
        if let object = capture?.explanation {
            lines.append("")
            lines += object.text.split(separator: "\n", omittingEmptySubsequences: false)
                .map { Self.visible(String($0)) }
        }
        return lines.joined(separator: "\n")
    }

    /// The lines of a row. Sentences are wrapped below each other; text without spaces is not
    /// broken.
    private static func lines(_ name: String, _ value: String) -> [String] {
        let margin = String(repeating: " ", count: nameColumnCount)
        var lines = [name + margin.dropFirst(name.count)]
        for word in visible(value).split(separator: " ", omittingEmptySubsequences: false) {
            let isStart = lines[lines.count - 1].count == nameColumnCount
            if !isStart, lines[lines.count - 1].count + 1 + word.count > columnCountMax {
                lines.append(margin + word)
            } else {
                lines[lines.count - 1] += (isStart ? "" : " ") + word
            }
        }
        return lines
    }

    private static let nameColumnCount = 10
    private static let columnCountMax = 100

    private var asked: String {
        joined([
            request.text("time"), request.text("method"), request.text("path"),
            request.text("host").map { "on \($0)" },
        ])
    }

    private var sender: String {
        joined([request.text("client"), request.text("user_agent").map { "with \($0)" }])
    }

    private var app: String {
        joined([
            request.text("app"), request.text("app_version"), request.text("environment"),
            request.text("key").map { "key \($0)" },
            capture?.installation.map { "installation \($0)" },
        ])
    }

    private var decided: String {
        joined(
            [
                request.text("decision").map { Self.decisions[$0] ?? $0 },
                request.number("status").map { "answered \($0)" },
                request.text("bucket").map { "counted as \($0)" },
                request.number("rollout").map {
                    "rollout at \($0)%, cohort \(request.number("cohort") ?? 0)"
                },
            ], separator: "; ")
    }

    private var cause: String {
        joined([request.text("reason"), request.text("detail").map { "(\($0))" }])
    }

    /// The command that shows what the sender has used; nil unless a quota refused the request.
    private var quotaCommand: String? {
        let detail = request.text("detail") ?? ""
        guard request.text("reason") == Reason.quotaExhausted.code.description,
            detail.hasPrefix("quota: ")
        else { return nil }
        return "sallyport quota show \(detail.dropFirst("quota: ".count)) SENDER"
    }

    private var upstream: String { request.text("upstream") ?? "" }

    private func joined(_ parts: [String?], separator: String = "  ") -> String {
        parts.compactMap(\.self).joined(separator: separator)
    }

    /// The decisions in the words of docs/operations/reference.md.
    private static let decisions = [
        "passed": "passed: its route asks for no proof",
        "verified": "verified, and forwarded",
        "observed": "observed: it would have been refused, and was forwarded",
        "developer": "forwarded by a developer token",
        "foreign": "forwarded by a token of another issuer",
        "tolerated": "tolerated: it fell short, and its route lets such requests pass",
        "limited": "limited: it fell short, and the limit for such requests had room",
        "unjudged": "unjudged: a store did not answer, and its route lets such requests pass",
        "refused": "refused",
        "answered": "answered by the gateway itself",
        "undecided": "undecided: the client left first",
    ]

    /// Strangers' text with control characters made visible, so that a terminal does not obey them.
    private static func visible(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            (0x20..<0x7F).contains(scalar.value)
                ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }.joined()
    }

    // MARK: for machines

    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("request_id", string: requestID)
        writer.member("source", string: request.source)
        writer.member(named: "request", value: request.members)
        if let explanation {
            writer.member("meaning", string: explanation.meaning)
            writer.member("fault", string: explanation.fault.rawValue)
            writer.member("fault_text", string: explanation.fault.words)
            writer.member("remedy", string: explanation.remedy)
        }
        if let quotaCommand { writer.member("command", string: quotaCommand) }
        if let capture {
            writer.beginObject("capture")
            writer.member("file", string: capture.path)
            if let installation = capture.installation {
                writer.member("installation", string: installation)
            }
            if let line = capture.requestLine { writer.member("compared", string: line) }
            if let object = capture.explanation?.json,
                let value = try? JSONValue.parse(
                    object.span, byteCountMax: object.count, depthMax: 8)
            {
                writer.member(named: "explanation", value: value)
            }
            writer.endObject()
        } else if missesCapture {
            writer.beginObject("capture")
            writer.member("missing", string: CaptureReading.reasonsToMiss)
            writer.endObject()
        }
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }
}
