import Bytes
import EventLoop
import Gateway
import HTTP
import JSON
import Settings

/// Looks for a request in one place after another, until it is found.
struct RequestSearch {
    let requestID: String
    let settings: Settings?
    private(set) var found: FoundRequest?
    /// The places that were searched.
    private(set) var searched: [String] = []
    /// The places that could not be searched, and what to do about it.
    private(set) var notes: [String] = []

    init(requestID: String, settings: Settings?) {
        self.requestID = requestID
        self.settings = settings
    }

    // MARK: the access log

    /// The configured log, and the files beside it that a rotation has left.
    mutating func lookInLogs(_ log: LogSettings) {
        guard log.format == .json else {
            notes.append(
                "log.format is \(log.format.rawValue), whose lines do not name causes: give a log "
                    + "in JSON with --log FILE")
            return
        }
        if log.samplePercent < 100 {
            notes.append("log.sample leaves out lines of requests that passed")
        }
        switch log.access {
        case .file(let path):
            lookInLog(path, isNamed: false)
            for rotated in rotated(path) where found == nil {
                lookInLog(rotated, isNamed: false)
            }
        case .off: notes.append("log.access is off")
        case .standardOutput, .standardError:
            notes.append(
                "log.access is \(log.access == .standardOutput ? "stdout" : "stderr"): pipe what "
                    + "keeps it, such as `journalctl -u sallyport -o cat`, to --log -")
        }
    }

    /// The rotated files, the newest first. Compressed ones are named in a note.
    private mutating func rotated(_ path: String) -> [String] {
        let names = (try? File.namesBeginning(path + ".")) ?? []
        let numbered = names.compactMap { name in
            Int(name.dropFirst(path.utf8.count + 1)).map { (number: $0, name: name) }
        }
        if let other = names.first(where: { $0.hasSuffix(".gz") || $0.hasSuffix(".zst") }) {
            notes.append("\(other) and others like it are not read: unpack them to --log -")
        }
        return numbered.sorted { $0.number < $1.number }.map(\.name)
    }

    /// `isNamed`: the user has named the file, so the command ends if it cannot be read.
    mutating func lookInLog(_ path: String, isNamed: Bool) {
        do {
            let source = path == "-" ? "standard input" : path
            let line = try lastLine(path, mayBePipe: isNamed)
            searched.append(source)
            found = line.map { FoundRequest(members: $0, source: source) }
        } catch {
            if isNamed { Exit.failed("\(error)") }
            notes.append("\(error)")
        }
    }

    /// The last line. A pipe that the gateway logs to is left to the program that reads it.
    private mutating func lastLine(_ path: String, mayBePipe: Bool) throws(IOError) -> JSONValue? {
        if path == "-" { return try lastLine(ofPipe: "/dev/stdin") }
        do throws(IOError) {
            let file = try AccessLogFile(path)
            let line = try file.lastLine(of: requestID)
            note(overlong: file.overlongLineCount, path)
            return line
        } catch {
            guard mayBePipe, error.reason == .notRegular else { throw error }
            return try lastLine(ofPipe: path)
        }
    }

    /// The request's last line, which is known only at the end of a pipe.
    private mutating func lastLine(ofPipe path: String) throws(IOError) -> JSONValue? {
        let reader = try LineReader(path, skipsOverlong: true)
        var last: JSONValue?
        while let line = try reader.next() {
            if let members = AccessLogFile.members(line.span, of: requestID) { last = members }
        }
        note(overlong: reader.overlongLineCount, path)
        return last
    }

    private mutating func note(overlong count: Int, _ path: String) {
        guard count > 0 else { return }
        notes.append(
            "\(path): \(count == 1 ? "a line was" : "\(count) lines were") skipped: longer than "
                + "\(LineReader.lineByteCountMax >> 20) MiB, so not the gateway's")
    }

    // MARK: the gateway

    /// Asks the admin listener, which has the last refusals.
    mutating func askGateway(_ admin: AdminSettings?) {
        guard found == nil else { return }
        guard let bind = admin?.bind else {
            notes.append("admin is not configured, so the gateway's last refusals are not known")
            return
        }
        do {
            let answer = try AdminQuestion.ask(
                bind.socketAddress(),
                AdminRequest(target: "/refusals.json?id=" + PercentEncoding.text(requestID)),
                named: bind.description, timeout: Self.timeout)
            // A gateway without this page answers 404 too.
            if answer.status == 404 { return searched.append("the last refusals of \(bind)") }
            guard answer.status == 200, let refusal = Self.refusal(answer.body, of: requestID)
            else {
                return notes.append("\(bind): \(answer.status) \(answer.firstLine)")
            }
            found = FoundRequest(members: refusal, source: "the last refusals of \(bind)")
        } catch {
            notes.append("\(error)")
        }
    }

    /// The time for an answer. The page is answered from memory, so only a stuck gateway takes
    /// longer.
    private static let timeout = Duration.seconds(5)

    private static func refusal(_ body: [UInt8], of requestID: String) -> JSONValue? {
        let document = try? JSONValue.parse(body.span, byteCountMax: body.count, depthMax: 8)
        guard let refusal = document?["refusal"], refusal["request_id"]?.stringValue == requestID
        else { return nil }
        return refusal
    }
}
