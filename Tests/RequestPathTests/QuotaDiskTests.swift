import Foundation
import GatewayTesting
import JSON
import SQLite
import Testing

/// The counts of quotas that a built gateway keeps beside its registry, through kills and on disks
/// that fail.
@Suite(
    "Counts of quotas and their disk", .enabled(if: BuiltProgram.isBuilt),
    .timeLimit(.minutes(30)))
struct QuotaDiskTests {}

extension QuotaDiskTests {
    private static let mounts = Comment(rawValue: LoopFileSystem.needs)
    private static let limit = 1_000_000

    /// A gateway whose open route has a quota by address.
    private struct Site {
        let upstream: RecordingUpstream
        let gateway: GatewayProcess
        let registry: String

        /// `folder`: the registry's; nil for the gateway's own.
        init(in folder: String? = nil, prepare: (String) throws -> Void = { _ in }) throws {
            upstream = try RecordingUpstream()
            let directory = try ScratchDirectory()
            registry = (folder ?? directory.path) + "/registry.db"
            var configuration = GatewayConfiguration(
                upstreamPort: upstream.port,
                routes: [.init("open", path: "/open", more: ["quota: few"])])
            configuration.registryPath = registry
            configuration.listenerMore = ["trusted_proxies: [127.0.0.0/8]"]
            configuration.more = [
                "quotas: { few: { by: address, per: month, limit: \(QuotaDiskTests.limit) } }"
            ]
            try prepare(registry + ".quotas")
            gateway = try GatewayProcess(configuration, directory: directory)
        }

        /// Sends a request from 10.1.x.y, and returns how much its address has used by then.
        @discardableResult
        func take(_ address: Int = 0, on client: RawClient? = nil) throws -> Int {
            let answer = try (client ?? gateway.connect()).exchange(
                "GET", "/open",
                fields: [("X-Forwarded-For", "10.1.\(address / 250).\(1 + address % 250)")])
            try #require(answer.status == 200, "\(answer.startLine)")
            let words = answer["RateLimit"]?.split(separator: ";r=").last?.prefix { $0 != ";" }
            return QuotaDiskTests.limit - (try #require(words.flatMap { Int($0) }))
        }

        /// The sum of what the file has of all counts, and how much of it the next start charges
        /// again: nothing after a clean end, or else what the last batch took. Nil if there is no
        /// file yet.
        ///
        /// It looks at a copy, because the gateway has the file to itself.
        func kept() throws -> (taken: Int, again: Int)? {
            let copy = try ScratchDirectory()
            for suffix in ["", "-wal"] {
                if let bytes = try? Data(contentsOf: file(suffix)) {
                    try copy.write(Array(bytes), to: "copy" + suffix)
                } else if suffix.isEmpty {
                    return nil
                }
                // A gateway that ends where there is room puts the log into the file.
            }
            let connection = try Connection(path: copy.path(of: "copy"))
            func sum(_ value: String) throws -> Int {
                Int(try connection.integer("SELECT coalesce(sum(\(value)), 0) FROM counts") ?? 0)
            }
            let last = "(SELECT batch FROM life WHERE NOT is_clean)"
            return (try sum("taken"), try sum("CASE batch WHEN \(last) THEN gained ELSE 0 END"))
        }

        func file(_ suffix: String = "") -> URL { URL(filePath: registry + ".quotas" + suffix) }

        func waitUntilKept(_ taken: Int) throws { try waitWhile(try kept()?.taken != taken) }

        /// The message of an event of the present process.
        func message(_ event: String, from index: Int = 0) throws -> String {
            try gateway.waitForEvent(event, from: index)["message"]?.stringValue ?? ""
        }

        var eventCount: Int { gateway.current.lines(on: .standardError).count }
    }

    // MARK: kills

    @Test(
        "kill -9 loses what was not written yet, and what was written last is charged again, once",
        .enabled(if: StoppedThreads.isAllowed))
    func kill() throws {
        let site = try Site()
        for _ in 0..<5 { try site.take() }
        try site.waitUntilKept(5)
        #expect(try site.take() == 6)
        try site.waitUntilKept(6)
        // From here on nothing is written.
        var writer: StoppedThreads? = try StoppedThreads(
            of: site.gateway.current, named: ["quotas"])
        for used in 7...9 { #expect(try site.take() == used) }
        // Nothing, if an empty batch came before the writer was stopped.
        var again = try #require(try site.kept()).again
        site.gateway.current.kill()
        withExtendedLifetime(writer) {}
        writer = nil
        try site.gateway.current.waitForExit()
        try site.gateway.start()
        let words = try site.message("quotas_resumed")
        #expect(words.hasPrefix("1 count of quotas go on after a kill"))
        // Six and the last of them again, and this one.
        var used = 6 + again + 1
        #expect(try site.take() == used)
        try site.waitUntilKept(used)
        try site.gateway.kill()
        again = try #require(try site.kept()).again
        try site.gateway.start()
        used += again + 1
        #expect(try site.take() == used)
        // Not after a stop, and not after another kill before something is written.
        try site.gateway.restart()
        try site.gateway.restart(byKill: true)
        #expect(try site.take() == used + 1)
        #expect(site.upstream.requests.count == 12)
    }

    @Test("whenever it is killed, what the file has goes on, and nothing else")
    func killedUnderLoad() throws {
        let site = try Site()
        var generator = SeededGenerator(17)
        var before = 0
        for _ in 0..<6 {
            let client = try site.gateway.connect()
            let total = 400
            let request =
                "GET /open HTTP/1.1\r\nHost: api.example\r\nX-Forwarded-For: 10.1.0.1\r\n\r\n"
            try client.send(String(repeating: request, count: total))
            for _ in 0..<Int.random(in: 0..<total, using: &generator) {
                #expect(try client.receive().status == 200)
            }
            try site.gateway.kill()
            let kept = try site.kept() ?? (0, 0)
            #expect(kept.taken >= before)
            try site.gateway.start()
            before = kept.taken + kept.again
            #expect(try site.take() == before + 1)
            try site.waitUntilKept(before + 1)
        }
    }

    @Test("a last batch that is torn counts as not written")
    func torn() throws {
        let site = try Site()
        for _ in 0..<5 { try site.take() }
        try site.waitUntilKept(5)
        for used in 6...7 {
            #expect(try site.take() == used)
            try site.waitUntilKept(used)
        }
        try site.gateway.kill()
        let log = site.file("-wal")
        let whole = try #require(try site.kept())
        let bytes = try Data(contentsOf: log)
        try bytes.dropLast(100).write(to: log)
        let torn = try #require(try site.kept())
        // An empty batch may have followed that of the seventh.
        #expect(whole.again == 0 ? torn == (7, 1) : torn.taken == 6)
        try site.gateway.start()
        try site.gateway.waitForEvent("quotas_resumed")
        #expect(try site.take() == torn.taken + torn.again + 1)
    }

    /// What can be wrong with the whole file.
    enum Damage: CaseIterable {
        case text, cut, folder
    }

    @Test("a file that cannot be read is told, and the gateway starts", arguments: Damage.allCases)
    func unread(_ damage: Damage) throws {
        let site = try Site()
        for _ in 0..<5 { try site.take() }
        try site.gateway.terminate()
        let file = site.file()
        switch damage {
        case .text: try Data("no database at all, but some text".utf8).write(to: file)
        case .cut: try Data(contentsOf: file).prefix(1500).write(to: file)
        case .folder:
            try FileManager.default.removeItem(at: file)
            try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        }
        try site.gateway.start()
        let words = try site.message("quotas_unread")
        #expect(words.contains("begin at 0"), "\(words)")
        #expect(words.contains(file.path), "\(words)")
        #expect(try site.take() == 1)
        if damage == .folder {
            // It is in the way of what is to be written, too.
            _ = try site.message("quotas_unkept")
            try FileManager.default.removeItem(at: file)
            try site.gateway.waitForEvent("quotas_kept")
        } else {
            #expect(FileManager.default.fileExists(atPath: file.path + ".damaged"))
        }
        #expect(try site.take() == 2)
        try site.gateway.restart()
        #expect(try site.take() == 3)
        #expect(site.gateway.isUnharmed)
    }

    // MARK: disks

    @Test(
        "a full disk stops no request, is told, and has all counts once there is room",
        .enabled(if: LoopFileSystem.isAllowed(), mounts), arguments: [false, true])
    func full(fileIsThere: Bool) throws {
        let disk = try LoopFileSystem()
        let site = try Site(in: disk.path)
        if fileIsThere {
            #expect(try site.take(300) == 1)
            try site.waitUntilKept(1)
        }
        try disk.fill()
        let client = try site.gateway.connect()
        // More than the blocks hold that the file has.
        for address in 0..<300 { #expect(try site.take(address, on: client) == 1) }
        #expect(try site.message("quotas_unkept").contains("the disk is full"))
        for address in 0..<10 { #expect(try site.take(address, on: client) == 2) }
        #expect(try site.gateway.admin("/readyz").status == 200)
        try disk.empty()
        try site.gateway.waitForEvent("quotas_kept")
        let before = fileIsThere ? 311 : 310
        try site.waitUntilKept(before)
        try disk.fill()
        for address in 0..<300 { _ = try site.take(address, on: client) }
        // The end makes room with what the registry's log gives back, or says what is lost.
        let index = site.eventCount
        try site.gateway.terminate()
        let events = site.gateway.current.lines(on: .standardError).dropFirst(index)
        let kept = try #require(try site.kept())
        #expect((before...before + 300).contains(kept.taken))
        #expect(kept.taken == before + 300 || events.contains { $0.contains("quotas_unkept") })
        try disk.empty()
        try site.gateway.start()
        let used = try (0...300).map { try site.take($0) }.reduce(0, +)
        #expect(used == kept.taken + kept.again + 301)
        // Of files that could not be made, nothing is left.
        let names = try FileManager.default.contentsOfDirectory(atPath: disk.path)
        #expect(!names.contains { $0.contains(".new-") }, "\(names)")
        #expect(site.gateway.isUnharmed)
    }

    @Test(
        "a disk that is stuck stops no request, is told, and has all counts once it answers",
        .enabled(if: LoopFileSystem.isAllowed(), mounts))
    func stuck() throws {
        let disk = try LoopFileSystem()
        let site = try Site(in: disk.path)
        defer { disk.thaw() }
        #expect(try site.take() == 1)
        try site.waitUntilKept(1)
        try disk.freeze()
        let client = try site.gateway.connect()
        for used in 2...100 { #expect(try site.take(on: client) == used) }
        #expect(try site.message("quotas_unkept").contains("the disk has not answered for"))
        for used in 101...200 { #expect(try site.take(on: client) == used) }
        for page in ["/livez", "/readyz"] {
            #expect(try site.gateway.admin(page).status == 200)
        }
        disk.thaw()
        try site.gateway.waitForEvent("quotas_kept")
        try site.waitUntilKept(200)
        try site.gateway.kill()
        let kept = try #require(try site.kept())
        #expect(kept.taken == 200)
        try site.gateway.start()
        #expect(try site.take() == 200 + kept.again + 1)
        // A stop waits for the disk, and loses nothing.
        try disk.freeze()
        var used = try site.take()
        site.gateway.current.terminate()
        #expect(throws: (any Error).self) {
            while true { used = try site.take() }
        }
        disk.thaw()
        #expect(try site.gateway.current.waitForExit() == .exited(0))
        try site.gateway.start()
        #expect(try site.take() == used + 1)
    }
}
