import AndroidAttestation
import Background
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import HTTPSClient
import Settings
import Testing

@Suite("Fetching the revocation list of Android", .timeLimit(.minutes(30)))
struct RevocationFetcherTests {}

extension RevocationFetcherTests {
    /// A server for which no time passes, and a gateway's fetcher that asks it.
    private final class Bench {
        final class Client: KeySetClient {
            unowned let bench: Bench
            var isClosed = false

            init(_ bench: Bench) { self.bench = bench }

            func ask(
                _ request: HTTPSRequest,
                handler: @escaping (Result<HTTPSResponse, HTTPSFailure>) -> Void
            ) {
                bench.askedAt.append(bench.seconds)
                if let answer = bench.answer { handler(answer) } else { bench.held.append(handler) }
            }

            func close() { isClosed = true }
        }

        struct Events: EventLog {
            let names = Locked<[String]>([])

            func event(level: StaticString, _ name: StaticString, _ message: String) {
                names.withLock { $0.append("\(name)") }
            }

            func leftOut(_ name: StaticString, isOwed: Bool) {}
        }

        private static let start = MonotonicInstant(nanoseconds: 1_000_000_000_000)
        let clock = ManualClock(now: start, wallMilliseconds: 0)
        let loop: EventLoop
        let state = RevocationState()
        let events = Events()
        private(set) var fetcher: RevocationFetcher?
        /// Nil: it answers when the test says, if ever.
        var answer: Result<HTTPSResponse, HTTPSFailure>?
        var held: [(Result<HTTPSResponse, HTTPSFailure>) -> Void] = []
        var askedAt: [Int64] = []
        var clients: [Client] = []
        /// The numbers of entries of the lists that were put in force.
        var taken: [Int] = []

        init(
            answer: Result<HTTPSResponse, HTTPSFailure>?, file: RevocationFile? = nil,
            wallMilliseconds: Int64 = 0
        ) throws {
            clock.wallMilliseconds = wallMilliseconds
            loop = try EventLoop(clock: clock)
            self.answer = answer
            let make: KeySetClientMaker = { [unowned self] _, _ in
                let client = Client(self)
                clients.append(client)
                return client
            }
            fetcher = RevocationFetcher(
                loop: loop, state: state, log: events, file: file, client: make,
                onList: { [unowned self] list, _ in taken.append(list.count) })
        }

        var seconds: Int64 { Int64(clock.now.nanoseconds(since: Self.start) / 1_000_000_000) }

        func use(_ settings: AndroidRevocationSettings?) throws {
            guard let fetcher else { return }
            fetcher.use(try fetcher.change(to: settings))
        }

        /// As a gateway starts.
        func start(_ settings: AndroidRevocationSettings) throws {
            guard let fetcher else { return }
            let change = try fetcher.change(to: settings)
            fetcher.restore(change)
            fetcher.use(change)
        }

        /// Lets time pass, `step` seconds at a time.
        func run(_ count: Int64, step: Int64 = 1) {
            for _ in 0..<(count / step) {
                clock.now = clock.now + .seconds(step)
                clock.wallMilliseconds += step * 1000
                loop.runUntilIdle()
            }
        }

        /// The number of entries of the list in force; nil if none is, -1 if none is looked at.
        var inForce: Int? {
            switch state.revocations(at: clock.now) {
            case .list(let list): list.count
            case .missing: nil
            case .off: -1
            }
        }

        func count(_ outcome: RevocationState.Outcome) -> UInt64 {
            state.figures?.counts[outcome] ?? 0
        }

        var eventNames: [String] { events.names.withLock(\.self) }
    }

    private static func document(_ count: Int, first: Int = 1) -> [UInt8] {
        let entries = (0..<count).map {
            #""\#(String(first + $0, radix: 16))":{"status":"REVOKED"}"#
        }
        return Array(#"{"entries":{\#(entries.joined(separator: ","))}}"#.utf8)
    }

    private static func list(
        _ count: Int, _ fields: HTTPSField...
    ) -> Result<HTTPSResponse, HTTPSFailure> {
        .success(HTTPSResponse(status: 200, fields: fields, body: document(count)))
    }

    private static func status(
        _ status: Int, _ body: String = ""
    ) -> Result<HTTPSResponse, HTTPSFailure> {
        .success(HTTPSResponse(status: status, fields: [], body: Array(body.utf8)))
    }

    private static func settings(
        _ change: (inout AndroidRevocationSettings) -> Void = { _ in }
    ) -> AndroidRevocationSettings {
        var settings = AndroidRevocationSettings()
        settings.source = .url("http://127.0.0.1:1/status")
        change(&settings)
        return settings
    }

    @Test(
        "the list is asked for again when the server says, within refresh",
        arguments: [
            ([], 3600), ([HTTPSField("cache-control", "public, max-age=1000")], 1000),
            ([HTTPSField("cache-control", "max-age=1000"), HTTPSField("age", "400")], 600),
            ([HTTPSField("cache-control", "max-age=1")], 300),
            ([HTTPSField("cache-control", "max-age=86400")], 3600),
            ([HTTPSField("cache-control", "no-store")], 300),
            ([HTTPSField("cache-control", #"max-age=1000, no-cache="set-cookie""#)], 300),
            ([HTTPSField("cache-control", "no-transform , max-age=1000 ,")], 1000),
        ] as [([HTTPSField], Int64)])
    func lives(fields: [HTTPSField], life: Int64) throws {
        let bench = try Bench(
            answer: .success(
                HTTPSResponse(status: 200, fields: fields, body: Self.document(3))))
        try bench.use(Self.settings())
        #expect(bench.inForce == 3)
        bench.run(life - 1)
        #expect(bench.askedAt == [0])
        bench.run(1)
        #expect(bench.askedAt == [0, life])
    }

    @Test(
        "what is no list is not taken, and the one before counts on",
        arguments: [
            (status(301), .refused), (status(304), .refused), (status(404), .refused),
            (status(503), .refused), (status(200), .malformed), (status(200, "<html>"), .malformed),
            (status(200, "{}"), .malformed), (status(200, #"{"entries":[]}"#), .malformed),
            (
                .success(
                    HTTPSResponse(status: 200, fields: [], body: document(70_000))), .malformed
            ),
            (
                .success(
                    HTTPSResponse(status: 200, fields: [], body: Array(document(5).dropLast()))),
                .malformed
            ),
            (.failure(.timedOut), .failed), (.failure(.tooLarge), .failed),
            (.failure(.untrusted("self-signed")), .failed),
        ] as [(Result<HTTPSResponse, HTTPSFailure>, RevocationState.Outcome)])
    func faults(answer: Result<HTTPSResponse, HTTPSFailure>, outcome: RevocationState.Outcome)
        throws
    {
        let bench = try Bench(answer: Self.list(5))
        try bench.use(Self.settings())
        bench.answer = answer
        bench.run(3600)
        #expect(bench.inForce == 5 && bench.count(outcome) == 1)
        #expect(bench.state.figures?.failedBy == outcome)
        #expect(bench.eventNames == ["revocation_list_down"])
        // It is asked for again soon, and told of once.
        bench.run(600)
        #expect((3...20).contains(bench.count(outcome)))
        #expect(bench.eventNames == ["revocation_list_down"])
        bench.answer = Self.list(6)
        bench.run(301)
        #expect(bench.inForce == 6 && bench.state.figures?.failure == nil)
        #expect(bench.eventNames == ["revocation_list_down", "revocation_list_up"])
    }

    @Test("a list from a cache is as old as its Age says, also after a restart")
    func cached() throws {
        let directory = try ScratchDirectory()
        let file = RevocationFile(registryPath: directory.path(of: "registry.db"))
        let fields = [
            HTTPSField("cache-control", "public, max-age=3600"), HTTPSField("age", "86400"),
        ]
        let answer = HTTPSResponse(status: 200, fields: fields, body: Self.document(3))
        let start: Int64 = 1_000_000_000
        let bench = try Bench(answer: .success(answer), file: file, wallMilliseconds: start)
        try bench.use(Self.settings { $0.ageMax = .seconds(86_401) })
        #expect(bench.inForce == 3)
        #expect(bench.state.figures?.age(at: bench.clock.now) == .seconds(86_400))
        bench.run(1)
        #expect(bench.inForce == nil && bench.eventNames == ["revocation_list_expired"])
        try wait(bench) { File.exists(directory.path(of: "registry.db.android-revocations")) }
        bench.fetcher?.close()
        let next = try Bench(answer: nil, file: file, wallMilliseconds: start + 1000)
        try next.start(Self.settings())
        #expect(next.state.figures?.age(at: next.clock.now) == .seconds(86_401))
    }

    @Test("ignored entries of a list are told of once, until their number changes")
    func ignoredEntries() throws {
        func list(_ count: Int) -> Result<HTTPSResponse, HTTPSFailure> {
            let odd = (0..<count).map { #""odd \#($0)":{"status":"REVOKED"},"# }.joined()
            return Self.status(200, #"{"entries":{\#(odd)"1":{"status":"REVOKED"}}}"#)
        }
        let bench = try Bench(answer: list(1))
        try bench.use(Self.settings())
        for (count, toldCount) in [(1, 1), (2, 2), (0, 2), (1, 3)] {
            bench.answer = list(count)
            bench.run(3600)
            #expect(bench.inForce == 1)
            let told = [String](repeating: "revocation_list_entries_ignored", count: toldCount)
            #expect(bench.eventNames == told)
        }
    }

    @Test("an answer that is too long is cut off by the client")
    func bounded() {
        let settings = Self.settings()
        let https = settings.configuration(byteCountMax: RevocationList.byteCountMax)
        #expect(https.responseByteCountMax == 4 * 1024 * 1024)
    }

    @Test("nothing enrols before the first list, and nothing asks without an Android app")
    func first() throws {
        let bench = try Bench(answer: nil)
        #expect(bench.inForce == nil)
        try bench.use(Self.settings())
        #expect(bench.inForce == nil && bench.askedAt == [0])
        bench.held[0](Self.list(2))
        #expect(bench.inForce == 2)
        for settings in [nil, Self.settings { $0.source = .off }] {
            try bench.use(settings)
            #expect(bench.inForce == -1 && bench.clients[0].isClosed)
            bench.run(10_000, step: 100)
            #expect(bench.askedAt == [0])
        }
    }

    @Test("a list that cannot be renewed counts until it is max_age old")
    func stale() throws {
        let bench = try Bench(answer: Self.list(5))
        try bench.use(Self.settings { $0.ageMax = .seconds(7200) })
        bench.answer = .failure(.timedOut)
        bench.run(7199)
        #expect(bench.inForce == 5)
        bench.run(2)
        #expect(bench.inForce == nil)
        #expect(bench.eventNames == ["revocation_list_down", "revocation_list_expired"])
        bench.answer = Self.list(5)
        bench.run(301)
        #expect(bench.inForce == 5)
    }

    @Test("a list unlike the one before is held for six hours", arguments: [0, 49, 1000, 5000])
    func implausible(count: Int) throws {
        let bench = try Bench(answer: Self.list(100))
        try bench.use(Self.settings())
        bench.answer = Self.list(count)
        bench.run(3600)
        #expect(bench.inForce == 100 && bench.count(.implausible) == 1)
        bench.run(6 * 3600 - 1)
        #expect(bench.inForce == 100)
        bench.run(3600)
        #expect(bench.inForce == count && bench.taken == [100, count])
        #expect(bench.eventNames == ["revocation_list_implausible"])
    }

    @Test("a list that changes within bounds is taken", arguments: [50, 99, 100, 101, 999])
    func plausible(count: Int) throws {
        let bench = try Bench(answer: Self.list(100))
        try bench.use(Self.settings())
        bench.answer = Self.list(count)
        bench.run(3600)
        #expect(bench.inForce == count && bench.eventNames.isEmpty)
    }

    @Test("a held list that goes away is forgotten, and another one is held anew")
    func heldInVain() throws {
        let bench = try Bench(answer: Self.list(100))
        try bench.use(Self.settings())
        bench.answer = Self.list(0)
        bench.run(5 * 3600)
        bench.answer = Self.list(101)
        bench.run(3600)
        #expect(bench.inForce == 101)
        bench.answer = Self.list(0)
        bench.run(5 * 3600)
        bench.answer = Self.list(5000)
        bench.run(5 * 3600)
        #expect(bench.inForce == 101)
        #expect(
            bench.eventNames == [String](repeating: "revocation_list_implausible", count: 3))
    }

    @Test("an empty first list of a server is held, but not that of a file")
    func emptyFirst() throws {
        let bench = try Bench(answer: Self.list(0))
        try bench.use(Self.settings())
        #expect(bench.inForce == nil && bench.count(.implausible) == 1)
    }

    @Test("a reload asks at once, and an answer to the question before does not count")
    func reload() throws {
        let bench = try Bench(answer: nil)
        try bench.use(Self.settings())
        try bench.use(Self.settings { $0.refresh = .seconds(600) })
        #expect(bench.askedAt == [0] && bench.clients.count == 1)
        bench.held[0](Self.list(5))
        #expect(bench.inForce == nil)
        bench.run(1)
        #expect(bench.askedAt == [0, 1])
        bench.held[1](Self.list(6))
        #expect(bench.inForce == 6)
        // Another place: the list counts until the place has answered.
        try bench.use(Self.settings { $0.source = .url("http://127.0.0.1:2/") })
        #expect(bench.clients.count == 2 && bench.clients[0].isClosed && bench.inForce == 6)
        bench.held[2](Self.list(600))
        #expect(bench.inForce == 600)
    }

    // MARK: files

    /// Runs the loop until `isDone`, because threads of their own read and write files.
    private func wait(_ bench: Bench, until isDone: () -> Bool) throws {
        try repeatWhile(!isDone()) {
            bench.loop.runUntilIdle()
            _ = Foundation.poll(nil, 0, 1)
        }
    }

    @Test("the list outlives the gateway, with its age")
    func restart() throws {
        let directory = try ScratchDirectory()
        let file = RevocationFile(registryPath: directory.path(of: "registry.db"))
        let path = directory.path(of: "registry.db.android-revocations")
        do {
            let bench = try Bench(answer: Self.list(5), file: file, wallMilliseconds: 1_000_000)
            try bench.start(Self.settings())
            try wait(bench) { File.exists(path) }
            bench.fetcher?.close()
        }
        #expect(File.isOnlyOwners(path))
        func restarted(
            at milliseconds: Int64, _ other: AndroidRevocationSettings? = nil
        ) throws -> Bench {
            let bench = try Bench(answer: nil, file: file, wallMilliseconds: milliseconds)
            try bench.start(other ?? Self.settings())
            return bench
        }
        let day: Int64 = 86_400_000
        let young = try restarted(at: 1_000_000 + day)
        #expect(young.inForce == 5 && young.taken == [5])
        #expect(young.state.figures?.age(at: young.clock.now) == .seconds(86_400))
        // Implausible beside the list of the earlier gateway.
        young.held[0](Self.list(0))
        #expect(young.inForce == 5 && young.count(.implausible) == 1)
        #expect(try restarted(at: 1_000_000 + 7 * day).inForce == nil)
        let other = try restarted(
            at: 1_000_001, Self.settings { $0.source = .url("http://127.0.0.1:2/") })
        #expect(other.inForce == nil && other.eventNames.isEmpty)
        let early = try restarted(at: 999_999)
        #expect(early.inForce == nil && early.eventNames == ["revocation_list_unread"])
        var bytes = try File.read(path, byteCountMax: 1 << 20)
        bytes[bytes.count - 3] ^= 1
        try File.write(path, bytes, mode: 0o600)
        let damaged = try restarted(at: 1_000_001)
        #expect(damaged.inForce == nil && damaged.eventNames == ["revocation_list_unread"])
    }

    /// A file with a list, and the time of its last change in milliseconds.
    private static func file(
        in directory: ScratchDirectory, entryCount: Int
    ) throws -> (path: String, modified: Int64) {
        let path = directory.path(of: "list.json")
        try File.write(path, document(entryCount), mode: 0o600)
        return (path, try #require(File.modifiedMilliseconds(path)))
    }

    @Test("a file that another program writes is read again, and is as old as its last change")
    func file() throws {
        let directory = try ScratchDirectory()
        let (path, modified) = try Self.file(in: directory, entryCount: 0)
        let bench = try Bench(answer: nil, wallMilliseconds: modified + 60_000)
        try bench.use(Self.settings { $0.source = .file(path) })
        try wait(bench) { bench.inForce == 0 }
        #expect(bench.state.figures?.age(at: bench.clock.now) == .seconds(60))
        #expect(bench.clients.isEmpty)
        try File.write(path, Self.document(4), mode: 0o600)
        bench.run(3600, step: 60)
        try wait(bench) { bench.inForce == 4 }
        try File.write(path, Array("{".utf8), mode: 0o600)
        bench.run(3600, step: 60)
        try wait(bench) { bench.count(.malformed) > 0 }
        try File.remove(path)
        bench.run(600, step: 60)
        try wait(bench) { bench.count(.failed) > 0 }
        #expect(bench.inForce == 4)
    }

    @Test("a file that was changed in the future is not taken, because its age is not known")
    func futureFile() throws {
        let directory = try ScratchDirectory()
        let (path, modified) = try Self.file(in: directory, entryCount: 3)
        let ahead = try Bench(answer: nil, wallMilliseconds: modified - 300_001)
        try ahead.use(Self.settings { $0.source = .file(path) })
        try wait(ahead) { ahead.count(.fetched) + ahead.count(.failed) > 0 }
        #expect(ahead.inForce == nil)
        #expect(ahead.state.figures?.failure?.contains("later than the clock shows") == true)
        // Clocks differ a little.
        let near = try Bench(answer: nil, wallMilliseconds: modified - 300_000)
        try near.use(Self.settings { $0.source = .file(path) })
        try wait(near) { near.inForce == 3 }
        #expect(near.state.figures?.age(at: near.clock.now) == .zero)
    }
}
