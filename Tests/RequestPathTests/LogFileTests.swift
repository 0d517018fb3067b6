import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("Log files", .enabled(if: BuiltProgram.isBuilt))
struct LogFileTests {
    private let directory: ScratchDirectory
    private let gateway: GatewayProcess
    private var log: String { directory.path(of: "logs/access.log") }

    init() throws {
        directory = try ScratchDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path(of: "logs"), withIntermediateDirectories: false)
        var configuration = GatewayConfiguration(upstreamPort: try RecordingUpstream().port)
        configuration.more.append("log: { access: \(directory.path(of: "logs/access.log")) }")
        gateway = try GatewayProcess(configuration, directory: directory)
    }
}

extension LogFileTests {
    /// The paths in the lines of a file.
    private func paths(_ file: String) throws -> [String] {
        try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            .compactMap { try JSONValue.parse(String($0))["path"]?.stringValue }
    }

    private func request(_ path: String) throws {
        let status = try gateway.exchange("GET", path).status
        #expect(status > 0)
    }

    /// A request whose line is in the file: a line is written some time after its answer.
    private func loggedRequest(_ path: String, in file: String? = nil) throws {
        try request(path)
        let limit = ChildProcess.deadline
        while try !paths(file ?? log).contains(path), Date() < limit { _ = poll(nil, 0, 5) }
    }

    @Test("that were moved away are opened anew at SIGUSR1, whatever the configuration says")
    func moved() throws {
        try loggedRequest("/1")
        try directory.write("nonsense: [", to: "sallyport-\(gateway.port).yaml")
        try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
        gateway.current.send(signal: SIGUSR1)
        try gateway.waitForEvent("logs_reopened")
        try request("/2")
        #expect(try gateway.terminate() == .exited(0))
        #expect(try paths(log + ".1") == ["/1"])
        #expect(try paths(log) == ["/2"])
    }

    @Test("that were moved away are opened anew at SIGHUP, also if the configuration is bad")
    func badConfiguration() throws {
        try loggedRequest("/1")
        try FileManager.default.moveItem(atPath: log, toPath: log + ".1")
        let event = try gateway.reload(text: "nonsense: [")
        #expect(event["event"]?.stringValue == "reload_failed")
        try request("/2")
        #expect(try gateway.terminate() == .exited(0))
        #expect(try paths(log + ".1") == ["/1"])
        #expect(try paths(log) == ["/2"])
    }

    @Test("that cannot be opened anew are written on, and an event says so")
    func unopenable() throws {
        try loggedRequest("/1")
        let logs = directory.path(of: "logs")
        try FileManager.default.moveItem(atPath: logs, toPath: logs + ".old")
        gateway.current.send(signal: SIGUSR1)
        let event = try gateway.waitForEvent("log_reopen_failed")
        #expect(event["message"]?.stringValue?.contains(log) == true)
        #expect(try problems().contains("log_reopen_failed"))
        try loggedRequest("/2", in: logs + ".old/access.log")
        // There is a place for it again.
        try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: false)
        gateway.current.send(signal: SIGUSR1)
        try gateway.waitForEvent("logs_reopened")
        #expect(try !problems().contains("log_reopen_failed"))
        try request("/3")
        #expect(try gateway.terminate() == .exited(0))
        #expect(try paths(logs + ".old/access.log") == ["/1", "/2"])
        #expect(try paths(log) == ["/3"])
        let events = gateway.current.lines(on: .standardError).compactMap { line in
            try? JSONValue.parse(line)["event"]?.stringValue
        }
        #expect(events.count { $0 == "logs_reopened" } == 1)
    }

    /// The names of what the status page says is the matter.
    private func problems() throws -> [String] {
        let page = try JSONValue.parse(try gateway.admin("/status.json").bodyText)
        return page["problems"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? []
    }
}
