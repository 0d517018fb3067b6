import Attestation
import Bytes
import EventLoop
import Foundation
import GatewayTesting
import KeyStore
import SQLiteKeyStore
import Testing

/// A counter store as a history drives it.
protocol HistoricStore {
    /// How many ways there are to disturb it; each is tried once before any comes again.
    static var faultCount: Int { get }
    /// Steps between two faults, at least.
    static var calmStepCount: Int { get }
    /// Whether it ends with the gateway.
    static var isInProcess: Bool { get }

    /// Nil where a master was never reached.
    func moment(of keyID: KeyID, challenge: Bytes16, now: Int64) -> StoreMoment?
    func advance(_ request: CounterAdvance, now: Int64) throws -> CounterVerdict
    /// Time has passed.
    func sweep(now: Int64)
    /// `isAlone`: it serves again before this returns, and before another fault comes.
    func disturb(_ fault: Int, isAlone: Bool) throws
    /// Whether it has said, since this was last asked, that it may have lost something.
    func takeLoss() -> Bool
    /// The gateway stops, in good order or not, and starts again; `wallStep` is how far the time of
    /// day was set meanwhile.
    mutating func restart(isClean: Bool, wallStep: Int64, now: Int64) throws
    /// Whether it knows by itself which counters of the key were used.
    func holds(_ keyID: KeyID) -> Bool
}

/// What one worker of a gateway has: a key cache, and news that it has not read yet.
private final class HistoricWorker {
    var cache: KeyCache
    var newsNumber: UInt64 = 0
    let mail = Locked<[FloorTable.News]>([])

    init(apps: [AppIdentity], cacheCount: Int) {
        cache = KeyCache(recordCountMax: cacheCount, apps: apps)
    }

    func readMail() {
        for news in mail.withLock({ mail in
            defer { mail = [] }; return mail
        }) {
            if news.number != newsNumber + 1 { cache.clear() }
            newsNumber = news.number
            cache.raiseFloors(news.floors)
        }
    }
}

/// Everything that decides on a counter, put together as a gateway does it - key caches of two
/// workers, the table of floors with its file, a registry, a counter store - and driven through
/// what happens to gateways in years, in an order that follows from a seed.
struct CounterHistory<Store: HistoricStore> {
    private struct Signed {
        let keyID: KeyID
        let counter: UInt32
        /// Nil on a route without challenges.
        let challenge: ChallengeUse?
        let isStrict: Bool
    }

    /// A request between two steps of its worker.
    private struct Held {
        let worker: Int
        let signed: Signed
        let floor: UInt32
        let newsNumber: UInt64
    }

    private static var life: Int64 { 120_000 }

    private(set) var store: Store
    private var generator: SeededGenerator
    private let directory: TemporaryDirectory
    private let registry: SQLiteRegistry
    private let memory: ScratchDirectory
    private let location: FloorLocation
    private let keys: [KeyID]
    private let app: String
    private var identity: AppIdentity {
        AppIdentity(id: app, platform: .apple, environments: [.production])
    }
    private var table: FloorTable
    private var workers: [HistoricWorker] = []
    private var now: Int64 = 1_000_000_000
    private var held: [Held] = []
    private var captured: [Signed] = []
    private var next: [KeyID: UInt32] = [:]
    private var accepted: [KeyID: Set<UInt32>] = [:]
    private var highest: [KeyID: UInt32] = [:]
    private var deck: [Int] = []
    private var calm = 0
    private var spent: Set<[UInt64]> = []
    private(set) var acceptedCount = 0
    private(set) var violations: [String] = []
    private(set) var trace: [String] = []

    init(seed: UInt64, store: Store, directory: TemporaryDirectory) throws {
        self.store = store
        self.directory = directory
        generator = SeededGenerator(seed: seed)
        registry = try SQLiteRegistry(path: directory.registryPath)
        memory = try ScratchDirectory(inMemory: true)
        location = FloorLocation(
            diskBase: directory.registryPath + ".floors",
            memoryBase: memory.path(of: "floors"))
        var records: [KeyRecord] = []
        for _ in 0..<5 {
            let record = generator.record()
            _ = try registry.enrol(record, challenge: generator.bytes16())
            records.append(record)
        }
        keys = records.map(\.keyID)
        app = records[0].appID
        table = FloorTable()
        try start()
    }

    /// As the program starts: what the last process has accepted is in the file.
    private mutating func start() throws {
        table = FloorTable()
        let left = try FileManager.default.contentsOfDirectory(atPath: memory.path)
        table = FloorTable(lifeMilliseconds: Self.life + 5000, at: location)
        repeat {
            // The end of a process lets go of its file; here another thread may still hold it.
            table.takeOver(now: now, holds: store.holds)
        } while try !Set(FileManager.default.contentsOfDirectory(atPath: memory.path))
            .isDisjoint(with: left)
        workers = (0..<2).map { _ in HistoricWorker(apps: [identity], cacheCount: 2) }
        for worker in workers {
            table.onNews { [mail = worker.mail] news in mail.withLock { $0.append(news) } }
        }
        held = []
    }

    /// So many steps, or as long as ``HistoryLength`` says.
    mutating func run(stepCount: Int) throws {
        let end = HistoryLength.seconds.map { ContinuousClock.now + .seconds($0) }
        var count = 0
        while violations.isEmpty, end.map({ ContinuousClock.now < $0 }) ?? (count < stepCount) {
            try step()
            count += 1
            if trace.count > 1000 { trace.removeFirst(900) }
            guard store.takeLoss() else { continue }
            // The gateway's answer.
            table.settleAll(now: now)
            for worker in workers { worker.cache.clear() }
            trace.append("loss")
        }
        registry.close()
    }

    private mutating func step() throws {
        calm += 1
        let worker = workers[pick(workers.count)]
        switch pick(100) {
        case 0..<36: try begin()
        case 36..<68: try finish()
        case 68..<78: pass([1, 900, 20_000, 70_000][pick(4)])
        case 78..<81: pass([130_000, 200_000, 3_600_000][pick(3)])
        case 81..<85: worker.readMail()
        case 85..<90: try raise()
        case 90..<92: worker.cache.clear()
        case 92..<93: worker.cache.replaceApps([identity])
        case 93..<95: try restart(isClean: true)
        case 95..<97: try restart(isClean: false)
        default: try disturb()
        }
    }

    private mutating func disturb() throws {
        guard Store.faultCount > 0, calm >= Store.calmStepCount else { return }
        calm = 0
        if deck.isEmpty { deck = (0..<Store.faultCount).shuffled(using: &generator) }
        let fault = deck.removeLast()
        let isAlone = pick(3) > 0
        trace.append("fault \(fault)\(isAlone ? "" : ", and the next")")
        try store.disturb(fault, isAlone: isAlone)
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &generator) }

    private mutating func pass(_ milliseconds: Int64) {
        now += milliseconds
        store.sweep(now: now)
        trace.append("time \(milliseconds)")
    }

    private mutating func raise() throws {
        table.raise(in: registry, isWhole: true, now: now)
        // The registry answers in order.
        let reply = Reply<Result<Void, StoreError>>()
        registry.raiseFloors([]) { reply.give($0) }
        _ = reply.wait()
        trace.append("raised, \(table.keyCount) left")
    }

    private mutating func restart(isClean: Bool) throws {
        if isClean, !Store.isInProcess {
            table.settleAll(now: now)
            try raise()
        }
        let hours = Int64(pick(5)) - 2
        try store.restart(isClean: isClean, wallStep: hours * 3_600_000, now: now)
        trace.append(isClean ? "stop" : "kill")
        try start()
    }

    // MARK: requests

    private mutating func begin() throws {
        guard let signed = try sign() else { return }
        let index = pick(workers.count)
        let worker = workers[index]
        if let known = worker.cache.find(signed.keyID) {
            held.append(
                Held(
                    worker: index, signed: signed, floor: known.counterFloor,
                    newsNumber: worker.newsNumber))
            return
        }
        try lookUp(signed, by: index)
    }

    private mutating func lookUp(_ signed: Signed, by index: Int) throws {
        let worker = workers[index]
        let number = table.newsNumber
        guard let record = try registry.find(signed.keyID) else { return }
        // News may come before the answer does.
        if pick(3) == 0 { try raise() }
        if pick(2) == 0 { worker.readMail() }
        if number >= worker.newsNumber { worker.cache.insert(record) }
        held.append(
            Held(
                worker: index, signed: signed, floor: record.counterFloor, newsNumber: number))
    }

    /// Fresh, heard before, or an old counter with a fresh challenge.
    private mutating func sign() throws -> Signed? {
        let kind = pick(10)
        if kind < 3, !captured.isEmpty {
            let reach = pick(2) == 0 ? min(8, captured.count) : captured.count
            return captured[captured.count - 1 - pick(reach)]
        }
        let keyID = keys[pick(keys.count)]
        var challenge: ChallengeUse?
        if pick(10) > 0 {
            let id = generator.bytes16()
            guard let moment = store.moment(of: keyID, challenge: id, now: now) else { return nil }
            challenge = ChallengeUse(
                id: id, incarnation: moment.incarnation,
                expiresAt: moment.milliseconds + Self.life)
        }
        var counter = next[keyID] ?? 0
        if kind < 7 || counter == 0 {
            counter += UInt32(1 + pick(2))
            next[keyID] = counter
        } else {
            counter -= UInt32(pick(Int(min(counter, 6))))
        }
        let signed = Signed(
            keyID: keyID, counter: counter, challenge: challenge,
            isStrict: challenge == nil || pick(3) > 0)
        captured.append(signed)
        return signed
    }

    /// What a gateway does with a request whose signature holds.
    private mutating func finish() throws {
        guard !held.isEmpty else { return }
        let request = held.remove(at: pick(held.count))
        let signed = request.signed
        guard let challenge = signed.challenge else { return try finishUnchallenged(signed) }
        let moment = store.moment(of: signed.keyID, challenge: challenge.id, now: now)
        guard let moment, moment.incarnation == challenge.incarnation,
            challenge.expiresAt > moment.milliseconds
        else { return }
        let floor = table.floor(
            of: signed.keyID, known: request.floor, asOf: request.newsNumber, now: now)
        guard let floor else {
            workers[request.worker].cache.invalidate([signed.keyID])
            return try lookUp(signed, by: request.worker)
        }
        if signed.isStrict, signed.counter <= floor.strict { return }
        let verdict = try store.advance(
            CounterAdvance(
                keyID: signed.keyID, .counter(signed.counter),
                windowSize: signed.isStrict ? 1 : 64, challenge: challenge,
                floor: floor.settled),
            now: now)
        trace.append("\(keys.firstIndex(of: signed.keyID) ?? -1): \(signed.counter) \(verdict)")
        guard verdict == .accepted else { return }
        table.note(signed.keyID, signed.counter, now: now)
        check(signed)
    }

    /// The registry's counter is all that such a route asks, and what this gateway has accepted.
    private mutating func finishUnchallenged(_ signed: Signed) throws {
        if let highest = table.highest(of: signed.keyID), signed.counter <= highest { return }
        let reply = Reply<Result<DurableOutcome, StoreError>>()
        registry.advanceDurably(signed.keyID, counter: signed.counter) { reply.give($0) }
        let outcome = try reply.wait()?.get()
        trace.append(
            "\(keys.firstIndex(of: signed.keyID) ?? -1): \(signed.counter) without a challenge")
        guard outcome == .advanced else { return }
        table.note(signed.keyID, signed.counter, as: .unheard, now: now)
        check(signed)
    }

    private mutating func check(_ signed: Signed) {
        acceptedCount += 1
        let counters = accepted[signed.keyID, default: []]
        let top = highest[signed.keyID] ?? 0
        if signed.isStrict, signed.counter <= top {
            violations.append("strict: \(signed.counter) after \(top)")
        }
        if counters.contains(signed.counter) { violations.append("\(signed.counter) twice") }
        highest[signed.keyID] = max(top, signed.counter)
        // A window is not told of counters without a challenge, which it would take for its own.
        guard let id = signed.challenge?.id else { return }
        accepted[signed.keyID, default: []].insert(signed.counter)
        if !spent.insert([signed.keyID.digest.word0, id.word0, id.word1]).inserted {
            violations.append("a challenge twice")
        }
    }
}
