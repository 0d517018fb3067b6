import Background
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import HTTPSClient
import JWT
import Settings
import Testing

@Suite("Fetching an issuer's keys", .timeLimit(.minutes(30)))
struct KeySetFetcherTests {}

extension KeySetFetcherTests {
    /// An issuer for which no time passes, and a gateway's fetcher that asks it.
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
        let register = IssuerKeyRegister()
        let events = Events()
        private(set) var fetcher: KeySetFetcher?
        /// Nil: it answers when the test says, if ever.
        var answer: Result<HTTPSResponse, HTTPSFailure>?
        /// Who waits for such an answer.
        var held: [(Result<HTTPSResponse, HTTPSFailure>) -> Void] = []
        var askedAt: [Int64] = []
        var clients: [Client] = []

        /// `wallMilliseconds`: the time of day at which the gateway starts.
        init(
            answer: Result<HTTPSResponse, HTTPSFailure>?, folder: KeySetFolder? = nil,
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
            fetcher = KeySetFetcher(
                loop: loop, register: register, log: events, folder: folder, client: make)
        }

        var seconds: Int64 { Int64(clock.now.nanoseconds(since: Self.start) / 1_000_000_000) }

        func use(_ proofs: [ProofSettings]) throws {
            guard let fetcher else { return }
            fetcher.use(try fetcher.change(to: proofs))
        }

        /// As a gateway starts.
        func start(_ proofs: [ProofSettings]) throws {
            guard let fetcher else { return }
            let change = try fetcher.change(to: proofs)
            fetcher.restore(change)
            fetcher.use(change)
        }

        /// Lets time pass, second by second.
        func run(_ count: Int64) {
            for _ in 0..<count {
                clock.now = clock.now + .seconds(1)
                loop.runUntilIdle()
            }
        }

        var keys: IssuerKeys { get throws { try keys(of: KeySetFetcherTests.proof()) } }

        func keys(of proof: ProofSettings) throws -> IssuerKeys {
            register.keys(of: try #require(IssuerKeyRegister.Place(proof)))
        }
    }

    fileprivate static let url = "http://127.0.0.1:1/jwks"
    private static let key = #"""
        {"kty":"EC","crv":"P-256","kid":"e","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
        """#

    private static func keys(_ fields: HTTPSField...) -> Result<HTTPSResponse, HTTPSFailure> {
        .success(
            HTTPSResponse(
                status: 200, fields: fields, body: Array(IssuerKey.document([key]).utf8)))
    }

    fileprivate static func proof(
        _ name: String = "issuer", url: String = url, issuer: String? = "i"
    ) -> ProofSettings {
        var proof = ProofSettings()
        proof.name = name
        proof.issuer = issuer
        proof.header = "x-token"
        proof.algorithms = [.es256]
        proof.jwks = .url(url)
        return proof
    }

    @Test(
        "keys are asked for again when the issuer says, within bounds",
        arguments: [
            ([], 3600), ([HTTPSField("cache-control", "public, max-age=1000")], 1000),
            ([HTTPSField("cache-control", "Max-Age=1000"), HTTPSField("age", "400")], 600),
            ([HTTPSField("cache-control", "max-age=1")], 300),
            ([HTTPSField("cache-control", "max-age=99999999999999999999")], 3600),
            ([HTTPSField("cache-control", "max-age=4000000000")], 21_600),
            ([HTTPSField("cache-control", "max-age=1000"), HTTPSField("age", "2000")], 300),
            ([HTTPSField("cache-control", "no-store, max-age=1000")], 300),
            ([HTTPSField("cache-control", "max-age=\"1000\"")], 3600),
        ] as [([HTTPSField], Int64)])
    func lives(fields: [HTTPSField], life: Int64) throws {
        let body = Array(IssuerKey.document([Self.key]).utf8)
        let bench = try Bench(
            answer: .success(HTTPSResponse(status: 200, fields: fields, body: body)))
        try bench.use([Self.proof()])
        #expect(try bench.keys.figures.keyCount == 1)
        bench.run(life + 1)
        #expect(bench.askedAt == [0, life])
    }

    @Test("unknown keys bring one question a minute, however many tokens name them")
    func flood() throws {
        let bench = try Bench(answer: Self.keys())
        try bench.use([Self.proof()])
        for _ in 0..<59 {
            for _ in 0..<1000 { try bench.keys.miss() }
            bench.run(1)
        }
        #expect(bench.askedAt == [0])
        for _ in 0..<121 {
            try bench.keys.miss()
            bench.run(1)
        }
        #expect(bench.askedAt == [0, 60, 120, 180])
    }

    @Test("keys that cannot be renewed count for a day, and then no more")
    func stale() throws {
        let bench = try Bench(answer: Self.keys())
        try bench.use([Self.proof()])
        bench.answer = .failure(.unreachable("down"))
        bench.run(86_399)
        #expect(try bench.keys.current != nil)
        #expect(try bench.keys.figures.failure == "unreachable (down)")
        bench.run(2)
        #expect(try bench.keys.current == nil && bench.keys.figures.keyCount == 0)
        // Twice a minute at most, and each failure is counted.
        let count = try bench.keys.figures.counts[.failed] ?? 0
        #expect(count == UInt64(bench.askedAt.count - 1) && count < 86_400 / 29)
        #expect(bench.events.names.withLock { $0 } == ["jwks_down", "jwks_expired"])
        bench.answer = Self.keys()
        bench.run(61)
        #expect(try bench.keys.current != nil && bench.keys.figures.failure == nil)
        #expect(bench.events.names.withLock { $0 }.last == "jwks_up")
    }

    @Test(
        "an answer that is none changes nothing",
        arguments: [
            (Result<HTTPSResponse, HTTPSFailure>.failure(.timedOut), IssuerKeys.Outcome.failed),
            (.failure(.tooLarge), .failed), (.failure(.untrusted("x")), .failed),
            (.success(HTTPSResponse(status: 500)), .refused),
            (
                .success(
                    HTTPSResponse(status: 302, fields: [HTTPSField("location", "https://other/")])),
                .refused
            ),
            (.success(HTTPSResponse(status: 204)), .refused),
            (.success(HTTPSResponse(status: 200, body: Array("<html>".utf8))), .malformed),
            (.success(HTTPSResponse(status: 200, body: Array(#"{"keys":[]}"#.utf8))), .malformed),
        ])
    func failures(
        answer: Result<HTTPSResponse, HTTPSFailure>, outcome: IssuerKeys.Outcome
    ) throws {
        let bench = try Bench(answer: answer)
        try bench.use([Self.proof()])
        #expect(try bench.keys.current == nil)
        #expect(try bench.keys.figures.counts == [outcome: 1])
        bench.answer = Self.keys()
        bench.run(3)
        #expect(try bench.keys.current != nil)
        bench.answer = answer
        bench.run(3600)
        #expect(try bench.keys.current != nil)
        #expect(try (bench.keys.figures.counts[outcome] ?? 0) > 1)
    }

    @Test("a silent issuer is asked one question at a time")
    func silence() throws {
        let bench = try Bench(answer: nil)
        try bench.use([Self.proof()])
        bench.run(1000)
        #expect(bench.askedAt == [0])
    }

    @Test("an issuer whose keys move keeps the old ones until the new place has answered")
    func moved() throws {
        let bench = try Bench(answer: Self.keys())
        let moved = Self.proof(url: "http://127.0.0.1:1/moved")
        try bench.use([Self.proof()])
        bench.run(3000)
        bench.answer = .failure(.unreachable("down"))
        try bench.use([moved])
        let keys = try bench.keys(of: moved)
        #expect(keys.current != nil && keys.figures.keyCount == 1)
        #expect(keys.figures.counts == [.failed: 1])
        #expect(bench.clients.map(\.isClosed) == [true, false])
        // And back, while neither answers.
        try bench.use([Self.proof()])
        #expect(try bench.keys !== keys && bench.keys.current != nil)
        // A day after they were fetched, as if nothing had moved.
        bench.run(86_400 - 3001)
        #expect(try bench.keys.current != nil)
        bench.run(2)
        #expect(try bench.keys.current == nil)
    }

    @Test("what the new place answers is all that counts from then on")
    func movedAndAnswered() throws {
        let bench = try Bench(answer: Self.keys())
        try bench.use([Self.proof()])
        let former = try bench.keys.current
        let moved = Self.proof(url: "http://127.0.0.1:1/moved")
        try bench.use([moved])
        let keys = try bench.keys(of: moved)
        #expect(keys.current != nil && keys.current !== former)
    }

    @Test(
        "keys of another issuer never count",
        arguments: [
            (proof(), proof(issuer: "other")), (proof(), proof("other")),
            (proof(), proof(url: "http://127.0.0.1:1/moved", issuer: "other")),
            (proof(), proof(url: "http://127.0.0.1:1/moved", issuer: nil)),
            (proof(issuer: nil), proof(url: "http://127.0.0.1:1/moved", issuer: nil)),
            (proof(issuer: nil), proof()),
        ])
    func another(former: ProofSettings, next: ProofSettings) throws {
        let bench = try Bench(answer: Self.keys())
        try bench.use([former])
        #expect(try bench.keys(of: former).current != nil)
        bench.answer = nil
        try bench.use([next])
        #expect(try bench.keys(of: next).current == nil)
        #expect(try bench.keys(of: next).figures.keyCount == 0)
    }

    /// Where keys lie that were fetched at 1000 s.
    private func folder(in directory: ScratchDirectory) throws -> KeySetFolder {
        var settings = Settings()
        settings.registry = .sqlite(path: directory.path(of: "registry.db"))
        let folder = try #require(KeySetFolder(settings))
        let bench = try Bench(answer: Self.keys(), folder: folder, wallMilliseconds: 1_000_000)
        try bench.start([Self.proof()])
        try repeatWhile(!File.exists(directory.path(of: "registry.db.jwks-issuer"))) {
            bench.loop.runUntilIdle()
            _ = Foundation.poll(nil, 0, 5)
        }
        return folder
    }

    @Test("a restart goes on with the keys for as long as they count")
    func restart() throws {
        let directory = try ScratchDirectory()
        let folder = try folder(in: directory)
        let bench = try Bench(
            answer: .failure(.unreachable("down")), folder: folder,
            wallMilliseconds: 1_000_000 + 23 * 3_600_000)
        try bench.start([Self.proof()])
        #expect(try bench.keys.current != nil && bench.keys.figures.keyCount == 1)
        // It is asked at once all the same, as its keys may have changed.
        #expect(bench.askedAt == [0])
        #expect(try bench.keys.figures.age(at: bench.clock.now) == .seconds(23 * 3600))
        bench.run(3599)
        #expect(try bench.keys.current != nil)
        bench.run(1)
        #expect(try bench.keys.current == nil)
        #expect(bench.events.names.withLock { $0 } == ["jwks_down", "jwks_expired"])
    }

    @Test(
        "nothing that is too old, from the future or another's is taken up",
        arguments: [
            (1_000_000 + 24 * 3_600_000, proof(), []), (999_999, proof(), ["jwks_unread"]),
            (1_000_000, proof(issuer: "other"), []), (1_000_000, proof("other"), []),
            (1_000_000, proof(url: "http://127.0.0.1:1/moved"), []),
        ] as [(Int64, ProofSettings, [String])])
    func unusable(wall: Int64, proof: ProofSettings, events: [String]) throws {
        let directory = try ScratchDirectory()
        let folder = try folder(in: directory)
        let bench = try Bench(answer: nil, folder: folder, wallMilliseconds: wall)
        try bench.start([proof])
        #expect(try bench.keys(of: proof).current == nil)
        #expect(try bench.keys(of: proof).figures.keyCount == 0)
        #expect(bench.events.names.withLock { $0 } == events)
    }

    @Test("that a disk takes no keys is told once, and when it does again")
    func fullDisk() throws {
        let directory = try ScratchDirectory()
        let folder = try folder(in: directory)
        let path = directory.path(of: "registry.db.jwks-issuer")
        try File.remove(path)
        try File.makePrivateDirectory(path)
        let bench = try Bench(answer: Self.keys(), folder: folder)
        func wait(for events: [String]) throws {
            try repeatWhile(bench.events.names.withLock { $0 != events }) {
                bench.loop.runUntilIdle()
                _ = Foundation.poll(nil, 0, 5)
            }
        }
        try bench.use([Self.proof()])
        try wait(for: ["jwks_unkept"])
        try FileManager.default.removeItem(atPath: path)
        try bench.use([Self.proof()])
        try wait(for: ["jwks_unkept", "jwks_kept"])
        #expect(try bench.keys.current != nil)
    }

    @Test("a reload keeps the keys and asks again; what is gone is forgotten")
    func reload() throws {
        let bench = try Bench(answer: Self.keys())
        try bench.use([Self.proof()])
        let keys = try bench.keys
        bench.run(10)
        try bench.use([Self.proof(), Self.proof("other")])
        #expect(try bench.keys === keys && bench.askedAt == [0, 10, 10])
        #expect(bench.clients.map(\.isClosed) == [false, false])
        try bench.use([])
        #expect(bench.clients.map(\.isClosed) == [true, true])
        #expect(try bench.keys !== keys)
        bench.run(7200)
        #expect(bench.askedAt == [0, 10, 10])
    }

    @Test("a reload asks again also where a question of before it is under way")
    func reloadUnderWay() throws {
        let bench = try Bench(answer: nil)
        try bench.use([Self.proof()])
        bench.run(10)
        try bench.use([Self.proof()])
        #expect(bench.askedAt == [0])
        // What the issuer says now, it may have said before a key was withdrawn.
        bench.answer = Self.keys()
        bench.held.removeFirst()(Self.keys())
        #expect(try bench.keys.current != nil)
        bench.run(2)
        #expect(bench.askedAt == [0, 11])
        bench.run(600)
        #expect(bench.askedAt == [0, 11])
    }
}
