import GatewayTesting
import Testing

#if arch(x86_64)
    private let isCounted = CountedGateway.isInstalled
#else
    /// The budgets are of another set of instructions.
    private let isCounted = false
#endif

/// Instructions of a request on a warm connection, stage by stage, in a debug build: what is copied
/// once more, or looked for where it was known, shows whatever else the machine does. The same runs
/// count its allocations.
///
/// `Benchmarks/instructions.sh` counts those of a release.
@Suite(
    "Instructions of a request", .enabled(if: isCounted), .timeLimit(.minutes(30)))
struct InstructionTests {}

extension InstructionTests {
    /// A part of a request's way, and what it may take.
    private struct Stage {
        /// The function, what it calls included; nil for all of the program's own code, without its
        /// libraries.
        let function: String?
        /// What was measured when it was last set.
        let measured: [CountedRequests.Proof: Int]

        init(_ function: String?, plain: Int, assertion: Int, token: Int) {
            self.function = function
            measured = [.plain: plain, .assertion: assertion, .token: token]
        }

        func instructions(of dump: CallgrindDump) -> Int {
            guard let function else { return dump.ownInstructions(of: "sallyport") }
            return dump.instructions(in: function)
        }

        /// Libraries are a part of a stage, and differ between machines.
        func budget(_ proof: CountedRequests.Proof) -> Int {
            (measured[proof] ?? 0) * (function == nil ? 103 : 110) / 100
        }
    }

    /// In the order of a request. The end of the exchange is a part of the access's record, too.
    private static let stages: KeyValuePairs = [
        "read the head": Stage(
            "$s4HTTP11RequestHeadV5parse", plain: 18_821, assertion: 67_218, token: 39_465),
        "match the route": Stage(
            "$s7Gateway13RequestIntakeV10matchRoute", plain: 28_053, assertion: 30_722,
            token: 29_303),
        "decide the policy": Stage(
            "$s7Gateway5JudgeV12decidePolicy", plain: 14_224, assertion: 35_980, token: 31_003),
        "digest the body": Stage(
            "$s7Gateway13RequestIntakeV11receiveBody", plain: 0, assertion: 14_280, token: 0),
        "read the proof": Stage(
            "$s7Gateway6ProverV9readProof", plain: 0, assertion: 234_535, token: 30_399),
        "authenticate": Stage(
            "$s7Gateway6ProverV12authenticate", plain: 0, assertion: 49_763, token: 17_940),
        "advance the counter": Stage(
            "$s7Gateway15AssertionProverV14advanceCounter", plain: 1395, assertion: 50_974,
            token: 13_186),
        "rewrite the headers": Stage(
            "$s7Gateway12HeadRewriterV14rewriteHeaders", plain: 41_620, assertion: 96_896,
            token: 80_598),
        "lease an upstream": Stage(
            "$s7Gateway9ForwarderV13leaseUpstream", plain: 14_208, assertion: 14_208,
            token: 14_208),
        "send, and wait": Stage(
            "$s7Gateway9ForwarderV13relayResponse", plain: 11_258, assertion: 11_296,
            token: 11_257),
        "read the answer's head": Stage(
            "$s4HTTP12ResponseHeadV5parse", plain: 20_639, assertion: 20_639, token: 20_639),
        "relay the answer's head": Stage(
            "$s7Gateway9ForwarderV16upstreamSentHead", plain: 25_515, assertion: 72_703,
            token: 72_876),
        "record the access": Stage(
            "$s7Gateway8RecorderV12recordAccess", plain: 145_603, assertion: 192_583,
            token: 188_757),
        "end the exchange": Stage(
            "$s7Gateway8ExchangeC5reset", plain: 12_357, assertion: 15_246, token: 15_129),
        "all of the program": Stage(nil, plain: 203_709, assertion: 581_005, token: 329_571),
    ]

    /// All of the program for a plain request over HTTP/2.
    private static let http2 = Stage(nil, plain: 267_374, assertion: 0, token: 0)
    /// All of the program for a verified request with counters in Redis.
    private static let redis = Stage(nil, plain: 0, assertion: 651_216, token: 0)
    /// Allocations of the same: streams of HTTP/2 have objects of their own.
    private static let http2Allocations = 10
    /// A command to Redis needs some, too.
    private static let redisAllocations = 10

    @Test("are no more than they were over HTTP/2")
    func overHTTP2() throws {
        let requests = try CountedRequests { $0.configuration.speakHTTP2() }
        // What is made by the first request of a connection.
        _ = try requests.costOverHTTP2()
        try Self.expect(
            [("over HTTP/2", Self.http2)], .plain, allocations: Self.http2Allocations
        ) { try requests.costOverHTTP2() }
    }

    @Test("are no more than they were with counters in Redis")
    func withRedis() throws {
        let server = try RedisServer()
        let requests = try CountedRequests(counters: server.counters)
        _ = try requests.cost(.assertion)
        try Self.expect(
            [("with Redis", Self.redis)], .assertion, allocations: Self.redisAllocations
        ) { try requests.cost(.assertion) }
    }

    @Test("are for an Android phone's no more than for an Apple device's")
    func ofPhones() throws {
        let requests = try CountedRequests(admitsPhones: true)
        // What is made by a key's first request.
        _ = try (requests.cost(.assertion), requests.costOfPhone())
        let tries = try (0..<5).map { _ in
            (apple: try requests.cost(.assertion), phone: try requests.costOfPhone())
        }
        for part in ["all", "of the program alone"] {
            func least(_ dumps: [CallgrindDump]) -> Int {
                dumps.map {
                    part == "all" ? $0.instructions : $0.ownInstructions(of: "sallyport")
                }.min() ?? 0
            }
            let (apple, phone) = (least(tries.map(\.apple)), least(tries.map(\.phone)))
            print("instructions, \(part): \(phone) of a phone's, \(apple) of an Apple device's")
            #expect(0 < phone && phone <= apple, "\(part)")
        }
    }

    @Test("are no more than they were, at any stage")
    func budget() throws {
        let requests = try CountedRequests()
        for proof in CountedRequests.Proof.allCases {
            // What is made by a key's or a token's first request.
            _ = try requests.cost(proof)
            try Self.expect(
                Array(Self.stages), proof,
                allocations: try #require(AllocationTests.budgets[proof])
            ) { try requests.cost(proof) }
        }
    }

    private static func expect(
        _ stages: [(key: String, value: Stage)], _ proof: CountedRequests.Proof,
        allocations: Int, _ cost: () throws -> CallgrindDump
    ) throws {
        let budgets = stages.map { $0.value.budget(proof) } + [allocations]
        let least = try CountedGateway.least(above: budgets) {
            let dump = try cost()
            return stages.map { $0.value.instructions(of: dump) } + [dump.allocations]
        }
        for (index, stage) in stages.enumerated() {
            print("instructions: \(proof), \(stage.key): \(least[index])")
            #expect(least[index] <= budgets[index], "\(stage.key)")
            // A function of another name would take nothing for ever.
            let isThere = stage.value.measured[proof] != 0
            #expect((least[index] > 0) == isThere, "\(stage.key)")
        }
        print("allocations: \(proof): \(least[stages.count])")
        #expect(least[stages.count] <= allocations, "allocations: \(proof)")
    }
}
