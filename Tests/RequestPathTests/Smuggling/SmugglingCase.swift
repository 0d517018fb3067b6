import Testing

/// What one request of a table becomes, with a second one right behind it on the connection.
struct SmugglingCase: Sendable {
    /// A request as the upstream must see it: read strictly, and in no other way.
    struct Seen: Equatable, Sendable, CustomStringConvertible {
        var line: String
        /// Nil where no length is announced.
        var body: String?

        init(_ line: String, _ body: String? = nil) {
            self.line = line
            self.body = body
        }

        var description: String { line + (body.map { " [\($0)]" } ?? "") }
    }

    /// What becomes of ``marker``.
    enum Next: Equatable, Sendable {
        /// It is the next request, and answered as such.
        case served
        /// The connection has ended before it.
        case closed
        /// What stands before it on the connection is refused, and the connection ends.
        case refused(Int)
        /// It is part of what the case says about itself: its own content, as announced.
        case content
        /// Served or not reached, depending on what had come when the answer was written.
        case servedOrClosed
    }

    enum Outcome: Equatable, Sendable {
        /// Refused with this status; the connection ends, nothing reaches the upstream.
        case refused(Int)
        /// Answered by the gateway itself, with this status.
        case answered(Int, Next)
        case forwarded([Seen], Next)
        /// The request never ends: nothing reaches the upstream, nothing is answered.
        case unfinished
    }

    static let marker = "GET /smuggled HTTP/1.1\r\nHost: marker.example\r\n\r\n"
    static let seenMarker = Seen("GET /smuggled")

    let text: String
    let outcome: Outcome
    /// Fields of the first request at the upstream; nil for one that must not be there.
    var fields: [String: String?] = [:]

    /// Each ⏎ of `text` is CR LF, every other character one byte (ISO 8859-1).
    var bytes: [UInt8] {
        text.unicodeScalars.flatMap { scalar -> [UInt8] in
            scalar == "⏎" ? [0x0D, 0x0A] : [UInt8(truncatingIfNeeded: scalar.value)]
        }
    }

    // MARK: one line a case

    static func refused(_ status: Int, _ text: String) -> SmugglingCase {
        SmugglingCase(text: text, outcome: .refused(status))
    }

    static func unfinished(_ text: String) -> SmugglingCase {
        SmugglingCase(text: text, outcome: .unfinished)
    }

    static func answered(
        _ status: Int, _ text: String, next: Next = .served
    ) -> SmugglingCase {
        SmugglingCase(text: text, outcome: .answered(status, next))
    }

    static func forwarded(
        _ line: String, _ text: String, next: Next = .served, fields: [String: String?] = [:]
    ) -> SmugglingCase {
        SmugglingCase(text: text, outcome: .forwarded([Seen(line)], next), fields: fields)
    }

    static func forwarded(
        _ line: String, _ body: String, _ text: String, next: Next = .served,
        fields: [String: String?] = [:]
    ) -> SmugglingCase {
        SmugglingCase(
            text: text, outcome: .forwarded([Seen(line, body)], next), fields: fields)
    }
}

/// Cases about one part of a message.
struct SmugglingFamily: Sendable, CustomTestStringConvertible {
    let name: String
    let cases: [SmugglingCase]

    var testDescription: String { name }

    static let all: [SmugglingFamily] = [
        requestLines, lineEnds, targets, absoluteTargets, hosts, fields, disguises, folds,
        contentLengths, transferEncodings, chunkSizes, chunkExtensions, trailers, expectations,
        sequences, versions10, connectionOptions, upgrades, foreign,
    ]

    /// A GET of `/p` from host `a` with these field lines.
    static func plain(_ fields: String) -> String { "GET /p HTTP/1.1⏎Host: a⏎\(fields)⏎⏎" }

    /// A POST to `/p` at host `a` with these field lines and this body.
    static func post(_ fields: String, _ body: String = "") -> String {
        "POST /p HTTP/1.1⏎Host: a⏎\(fields)⏎⏎\(body)"
    }

    /// A POST in chunks.
    static func chunked(_ body: String) -> String { post("Transfer-Encoding: chunked", body) }
}
