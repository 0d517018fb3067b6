import EventLoop
import Gateway
import JSON
import Settings

/// `sallyport explain request`: shows why a request was refused, whose fault that is, and what to
/// do.
enum ExplainRequestCommand {
    static let options = ["-c", "--config", "--log"]

    /// The operands are `request` and its id.
    static func main(_ arguments: Arguments) {
        guard arguments.operands.count == 2 else { Exit.usage(ExplainCommand.usage) }
        let requestID = arguments.operands[1]
        guard isRequestID(requestID) else {
            Exit.usage("a request id is 1 to 128 visible ASCII characters without spaces")
        }
        let settings = settings(arguments)
        var search = RequestSearch(requestID: requestID, settings: settings)
        if let path = arguments.value("--log") {
            search.lookInLog(path, isNamed: true)
        } else if let settings {
            search.lookInLogs(settings.log)
            search.askGateway(settings.admin)
        }
        let capture = settings.flatMap { CaptureReading(requestID: requestID, $0) }
        guard let found = search.found ?? capture?.foundRequest else {
            let isSampled = settings.map { $0.log.samplePercent < 100 } ?? true
            for note in search.notes { Console.complain("sallyport: \(note)") }
            let places = search.searched.joined(separator: ", ")
            Exit.failed(
                "request \(requestID) was not found"
                    + (places.isEmpty ? ": there was no place to search" : " in \(places)")
                    + "\nIts line may be in an older log file (rotation)"
                    + (isSampled ? ", may have been left out (log.sample)" : "")
                    + ", or another gateway has answered it: ask there")
        }
        let account = RequestAccount(
            requestID: requestID, found, capture,
            missesCapture: capture == nil && settings?.capture != nil)
        Console.print(arguments.flags.contains("--json") ? account.json : account.text)
    }

    /// True for an id in the form that the gateway makes, and accepts from trusted proxies.
    private static func isRequestID(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The gateway's settings. Nil if a log is named, no configuration is named and the default one
    /// is missing: only a named log can do without.
    private static func settings(_ arguments: Arguments) -> Settings? {
        let isNamed = arguments.value("-c") != nil || arguments.value("--config") != nil
        if arguments.value("--log") != nil, !isNamed,
            !File.exists(ConfigurationFile.defaultPath)
        {
            return nil
        }
        let path = ConfigurationFile.path(arguments, usage: ExplainCommand.usage)
        switch ConfigurationFile.load(path) {
        // Its warnings are for operators who change it.
        case .success(let loaded): return loaded.settings
        case .failure(let problems):
            for problem in problems.problems { Console.complain(problem.illustrated) }
            Exit.with(.configuration)
        }
    }
}

/// A request that was found: the members of its access line, and their source.
struct FoundRequest {
    let members: JSONValue
    /// The source in words.
    let source: String

    func text(_ name: String) -> String? { members[name]?.stringValue }
    func number(_ name: String) -> Int64? { members[name]?.integerValue }
}
