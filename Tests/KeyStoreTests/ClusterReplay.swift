import Attestation
import Bytes
import Foundation
import GatewayTesting
import KeyStore
import Redis
import Testing

@testable import RedisKeyStore

/// What the scripts lack in a replay that has to notice it.
enum ClusterFault: String, CaseIterable, Sendable {
    case incarnation
    case wholeIdentity
    case epoch
    case spentMark

    /// The words of the counter script that are turned, and what stands there instead; nil if the
    /// fault is not in the script.
    private var turn: (old: String, new: String)? {
        switch self {
        case .incarnation:
            ("string.sub(record, 1, 16) ~= ARGV[3]", "string.sub(record, 1, 16) == ARGV[2]")
        case .wholeIdentity: ("(ARGV[12] == 'whole' or not state or not counts)", "false")
        case .epoch: nil
        case .spentMark: ("if spent then", "if spent == '' then")
        }
    }

    /// The counter script with one comparison turned.
    func script() throws -> String {
        guard let turn else { return CounterScript.source }
        try #require(CounterScript.source.contains(turn.old))
        return CounterScript.source.replacingOccurrences(of: turn.old, with: turn.new)
    }
}

/// What replayed ways had in them.
struct ClusterCounts {
    var steps: [String: Int] = [:]
    /// Ways that the machine was too slow for.
    var lateCount = 0

    mutating func add(_ other: ClusterCounts) {
        steps.merge(other.steps, uniquingKeysWith: +)
        lateCount += other.lateCount
    }
}

/// Takes two masters of a real cluster, with a replica each, the way of a model: the gateway's own
/// calls of the gateway's own scripts, one at each step of `docs/proof/models/cluster.pml`.
///
/// What the model leaves to chance, the way says: who looks, calls, fails, and when. The scripts
/// have to come to the same incarnations, and to accept and refuse the same calls for the same
/// reason.
final class ClusterReplay {
    /// The slots of the model.
    private enum Place: Int, CaseIterable {
        case key
        case marks
    }

    private struct Disagreement: Error {
        let text: String
    }

    /// The machine stood still for so long that an incarnation ended by that.
    private struct TookTooLong: Error {}

    private let fault: ClusterFault?
    private let script: String
    private let cluster: RedisCluster
    /// By their numbers in the model, as those that follow.
    private var masters: [RedisServer]
    private var replicas: [RedisServer?]
    private var links: [RedisLink]
    private let records: [[UInt8]]
    private var owner = [0, 1]
    private var looks: [ServerLook?] = [nil, nil]
    private var lookedAt = [ContinuousClock.now, ContinuousClock.now]
    /// Whether the last look holds still.
    private var lives = [false, false]
    private var highestEpoch = 1
    private var dump: [UInt8] = []
    private let calls: CounterCalls
    private var incarnations: [Int: Incarnation] = [:]
    private var sealedUnder: [Int: Int] = [:]
    private var bound: [Int: Int] = [:]
    /// The incarnation of the key's master as its caller knew it when it spent a challenge.
    private var underWay: [Int: [Incarnation?]] = [:]
    private let expiresAt = Int64(Date().timeIntervalSince1970 * 1000) + 600_000
    private(set) var counts = ClusterCounts()

    init(fault: ClusterFault? = nil) throws {
        self.fault = fault
        cluster = try RedisCluster(masterCount: 2)
        masters = Array(cluster.servers[..<2])
        replicas = Array(cluster.servers[2...])
        script = try fault?.script() ?? CounterScript.source
        links = try masters.map { [script] in try RedisLink($0, script: script) }
        calls = CounterCalls(RedisCounterBench.configuration(cluster))
        records = ClusterPlaces.recordTags.map { [calls] in calls.layout.record(tag: $0) }
        try masters[highestEpoch].command("CLUSTER", "BUMPEPOCH")
        try awaitEpochs()
        for master in masters.indices { try awaitReplica(of: master) }
    }

    /// The first step at which the scripts do something else than the model, nil if there is none.
    func disagreement(on way: [[String]]) throws -> String? {
        for (number, words) in way.enumerated() {
            do {
                try take(words)
            } catch let found as Disagreement {
                return "step \(number), \(words.joined(separator: " ")): \(found.text)"
            } catch is TookTooLong {
                counts.lateCount += 1
                return nil
            }
        }
        return nil
    }

    private func take(_ words: [String]) throws {
        let first = try #require(words.dropFirst().first.flatMap { Int($0) })
        let last = try #require(words.last)
        let number = Int(last)
        counts.steps[number == nil ? "\(words[0]) \(last)" : words[0], default: 0] += 1
        for master in masters.indices { try keepAlive(master) }
        switch words[0] {
        case "look": try look(first, finding: try #require(number))
        case "seal": sealedUnder[first] = number
        case "sign": bound[first] = number
        case "spend": try spend(first, outcome: last)
        case "count": try count(first, outcome: last)
        case "forget": try forget(first)
        case "dump": try keepDump(of: first)
        case "restart": try restart(first, withDump: last == "dump")
        case "flush":
            try masters[first].command("FLUSHALL")
            lives[first] = false
        case "promote": try promote(first)
        case "move": try move(try #require(Place(rawValue: first)))
        default: throw Disagreement(text: "nobody knows this step")
        }
    }

    private func expect(_ isSo: Bool, _ text: @autoclosure () -> String) throws {
        if !isSo { throw Disagreement(text: text()) }
    }

    // MARK: scripts

    private func look(_ master: Int, finding number: Int) throws {
        let fresh = Incarnation(UInt64.random(in: 1 ... .max))
        let found = try look(master, fresh: fresh)
        if let known = incarnations[number] {
            try expect(found == known, "it does not go on with \(number)")
        } else {
            try expect(found == fresh, "it goes on, and does not begin anew")
            incarnations[number] = fresh
        }
        lives[master] = true
    }

    private func look(_ master: Int, fresh: Incarnation) throws -> Incarnation {
        let command = IncarnationScript.command(
            record: records[master], fresh: fresh, isCluster: fault != .epoch,
            since: looks[master])
        let reply = try links[master].ask(command)
        guard let found = ServerLook(reply) else { throw Disagreement(text: "\(reply)") }
        looks[master] = found
        lookedAt[master] = .now
        return found.incarnation
    }

    /// Gateways look at each master once a second: what lives goes on.
    private func keepAlive(_ master: Int) throws {
        guard lives[master], let last = looks[master] else { return }
        let age = ContinuousClock.now - lookedAt[master]
        guard age > .seconds(3) else { return }
        guard age < .milliseconds(ServerLife.lookMilliseconds - 5_000) else { throw TookTooLong() }
        let found = try look(master, fresh: Incarnation(UInt64.random(in: 1 ... .max)))
        try expect(found == last.incarnation, "master \(master) does not go on")
    }

    private func request(_ assertion: Int, rates: [CounterRate] = []) throws -> CounterAdvance {
        let challenge = try #require(bound[assertion])
        let incarnation = try #require(sealedUnder[challenge].flatMap { incarnations[$0] })
        return CounterAdvance(
            keyID: ClusterPlaces.key, .counter(UInt32(assertion + 1)), windowSize: 1024,
            challenge: ChallengeUse(
                id: ClusterPlaces.challenges[challenge], incarnation: incarnation,
                expiresAt: expiresAt, isBound: false),
            floor: 0, rates: rates)
    }

    private func verdict(_ call: CounterScript.Call, in place: Place) throws -> CounterVerdict {
        let keeper = owner[place.rawValue]
        // Whoever does not keep the slot says so, and does nothing.
        let elsewhere = try run(call, at: 1 - keeper)
        guard case .error(let line) = elsewhere, line.hasPrefix("MOVED ") else {
            throw Disagreement(text: "the wrong master says \(elsewhere)")
        }
        let reply = try run(call, at: keeper)
        guard let verdict = CounterScript.verdict(reply) else {
            throw Disagreement(text: "\(reply)")
        }
        return verdict
    }

    private func run(_ call: CounterScript.Call, at master: Int) throws -> RedisReply {
        var call = call
        call.look = .whole
        call.notedMilliseconds = looks[master]?.notedMilliseconds ?? 0
        var command = RedisCommand()
        call.write(
            CounterFrame(
                calls.layout, digest: links[master].digest, record: records[master],
                isRecordKey: false, isCluster: fault != .epoch),
            to: &command)
        return try links[master].ask(command)
    }

    private func spend(_ assertion: Int, outcome: String) throws {
        let verdict = try verdict(calls.advance(request(assertion), .spend), in: .marks)
        let isShared = bound.values.count { $0 == bound[assertion] } > 1
        switch outcome {
        case "accepted":
            try expect(verdict == .accepted, "\(verdict)")
            underWay[assertion, default: []].append(looks[owner[0]]?.incarnation)
        case "incarnation": try expect(verdict == .incarnationChanged, "\(verdict)")
        default:
            let isOther = isShared && verdict == .challengeSpent
            try expect(verdict == .replayed || isOther, "\(verdict)")
        }
    }

    private func count(_ assertion: Int, outcome: String) throws {
        let hour = 3_600_000_000
        // Not even one token fits.
        let rate = CounterRate(
            identity: 1, intervalMicroseconds: 2 * hour, depthMicroseconds: hour)
        let request = try request(assertion, rates: outcome == "limited" ? [rate] : [])
        // What the gateway knew when it began, and what somebody else may know by now: only the
        // present incarnation counts.
        let present = looks[owner[0]]?.incarnation ?? Incarnation(0)
        let known = underWay[assertion]?.popLast() ?? nil
        if let known, known != present {
            let verdict = try verdict(calls.advance(request, .count, known), in: .key)
            try expect(verdict == .incarnationChanged, "under a former incarnation: \(verdict)")
        }
        let verdict = try verdict(calls.advance(request, .count, present), in: .key)
        switch (outcome, verdict) {
        case ("accepted", .accepted), ("incarnation", .incarnationChanged), ("used", .counterUsed),
            ("limited", .rateLimited):
            break
        default: throw Disagreement(text: "\(verdict)")
        }
    }

    private func forget(_ challenge: Int) throws {
        let names = CounterNames(
            keyID: ClusterPlaces.key, challenge: ClusterPlaces.challenges[challenge], isFree: true)
        var command = RedisCommand("DEL")
        calls.layout.append(names, .spend, to: &command)
        let reply = try links[owner[1]].ask(command)
        guard case .integer = reply else { throw Disagreement(text: "\(reply)") }
    }

    // MARK: faults

    /// What the master has now is kept, and its replica hears nothing from now on.
    private func keepDump(of master: Int) throws {
        dump = try masters[master].dump()
        guard let replica = replicas[master] else { return }
        var command = RedisCommand("EVAL", "redis.call('SET', KEYS[1], '', 'PX', 1)", "1")
        command.append(records[master] + Array(":last".utf8))
        _ = try links[master].ask(command)
        let reply = try links[master].ask(RedisCommand("WAIT", "1", "30000"))
        try #require(reply == .integer(1), "the replica does not follow: \(reply)")
        // It goes on in its cluster, but no master takes it.
        try replica.command("CONFIG", "SET", "masterauth", "nobody")
        try masters[master].command("CLIENT", "KILL", "TYPE", "replica")
        replicas[master] = nil
        lagging = replica
    }

    private var lagging: RedisServer?

    private func restart(_ master: Int, withDump isDumped: Bool) throws {
        if isDumped {
            try masters[master].restart(from: dump)
        } else {
            try masters[master].restartEmpty()
        }
        try takeUp(master)
        // A master's first replica begins another history there.
        try awaitReplica(of: master)
    }

    private func promote(_ master: Int) throws {
        let heir = try #require(lagging)
        lagging = nil
        try wait("an heir that knows its slots") {
            try Place.allCases.allSatisfy { try keeper(of: $0, asking: heir) }
        }
        // Else it might take an epoch that another master has, and would have to give way.
        try awaitEpochs(also: heir)
        try masters[master].kill()
        let reply = try heir.command("CLUSTER", "FAILOVER", "TAKEOVER")
        try #require(reply == "OK")
        masters[master] = heir
        highestEpoch = master
        looks[master] = nil
        try takeUp(master)
    }

    /// A process has taken a master's place.
    private func takeUp(_ master: Int) throws {
        lives[master] = false
        links[master] = try RedisLink(masters[master], script: script)
        try wait("a whole cluster") {
            try masters.allSatisfy { try $0.command("CLUSTER", "INFO").contains("state:ok") }
                && masters.allSatisfy { witness in
                    try Place.allCases.allSatisfy { try keeper(of: $0, asking: witness) }
                }
        }
        try awaitEpochs()
        // What a dump brings of other masters' slots is thrown away, as `redis-cli` mends it.
        for place in Place.allCases where owner[place.rawValue] != master {
            try sweep(place, at: master)
        }
    }

    private func sweep(_ place: Place, at master: Int) throws {
        let slot = "\(ClusterPlaces.slot(of: place == .key).number)"
        let text = try masters[master].command("CLUSTER", "GETKEYSINSLOT", slot, "100")
        let keys = text.split(separator: "\n").map(String.init)
        guard !keys.isEmpty else { return }
        let other = try masters[1 - master].command("CLUSTER", "MYID")
        try masters[master].command("CLUSTER", "SETSLOT", slot, "IMPORTING", other)
        for key in keys {
            _ = try links[master].ask(RedisCommand("ASKING"))
            let reply = try links[master].ask(RedisCommand("DEL", key))
            try #require(reply == .integer(1), "\(reply)")
        }
        try masters[master].command("CLUSTER", "SETSLOT", slot, "STABLE")
    }

    private func move(_ place: Place) throws {
        let source = owner[place.rawValue]
        let target = 1 - source
        try cluster.move(
            slot: ClusterPlaces.slot(of: place == .key).number, from: masters[source],
            to: masters[target])
        owner[place.rawValue] = target
        if highestEpoch != target { lives[target] = false }
        highestEpoch = target
        try awaitEpochs()
    }

    /// Whether `witness` has the model's master for the keeper of a slot.
    private func keeper(of place: Place, asking witness: RedisServer) throws -> Bool {
        let slot = ClusterPlaces.slot(of: place == .key).number
        return try cluster.master(ofSlot: slot, asking: witness)
            === masters[owner[place.rawValue]]
    }

    /// Two that raise theirs without having heard of each other would come to the same.
    private func awaitEpochs(also heir: RedisServer? = nil) throws {
        try wait("epochs") {
            let epochs = try (masters + (heir.map { [$0] } ?? [])).map { server in
                try server.command("CLUSTER", "INFO").split(whereSeparator: \.isNewline)
                    .filter { $0.hasPrefix("cluster_current_epoch") || $0.contains("my_epoch") }
                    .compactMap { $0.split(separator: ":").last.flatMap { Int($0) } }
            }
            return Set(epochs.map { $0[0] }).count == 1
                && epochs[highestEpoch][1] == epochs[highestEpoch][0]
        }
    }

    private func awaitReplica(of master: Int) throws {
        guard let replica = replicas[master] else { return }
        try wait("a replica") {
            try replica.command("INFO", "replication").contains("master_link_status:up")
        }
    }

    private func wait(_ what: String, until isSo: () throws -> Bool) throws {
        let limit = ContinuousClock.now + RedisCounterBench.patience
        while try !isSo() {
            guard ContinuousClock.now < limit else {
                let views = masters.map { (try? $0.command("CLUSTER", "NODES")) ?? "" }
                throw RedisLink.Silence(text: "\(what)\n" + views.joined(separator: "\n"))
            }
            _ = poll(nil, 0, 20)
        }
    }
}

/// A connection to one server, with the counter script loaded there.
private final class RedisLink {
    struct Silence: Error {
        let text: String
    }

    private let dialog: RedisDialog
    private(set) var digest = ""

    init(_ server: RedisServer, script: String) throws {
        dialog = try RedisDialog(server.socketPath)
        let reply = try ask(RedisCommand("SCRIPT", "LOAD", script))
        digest = try #require(reply.text, "\(reply)")
    }

    func ask(_ command: RedisCommand) throws -> RedisReply { try dialog.ask(command) }
}

/// What the model calls its two slots: a key whose counter the first of two masters keeps, and
/// challenges whose marks lie in one slot of the second. Neither is the slot of a record, wherever
/// they move.
private enum ClusterPlaces {
    /// Of each master, as gateways choose it.
    static let recordTags: [[UInt8]] = [
        recordSlot(in: 0..<RedisSlot.count / 2),
        recordSlot(in: RedisSlot.count / 2..<RedisSlot.count),
    ].map(\.tag)

    private static func recordSlot(in range: Range<Int>) -> RedisSlot {
        let slots = range.compactMap { RedisSlot($0) }
        // A range of slots is never empty.
        return slots.min { $0.rank < $1.rank } ?? slots[0]
    }

    private static let highestRecordRank = recordTags.map { RedisSlot(ofTag: $0).rank }.max() ?? 0

    static let key: KeyID = {
        var number: UInt64 = 1
        while true {
            let key = RedisCounterBench.key(number)
            if key.slot.number < RedisSlot.count / 2, key.slot.rank > highestRecordRank {
                return key
            }
            number += 1
        }
    }()

    static let challenges: [Bytes16] = {
        var found: [RedisSlot: [Bytes16]] = [:]
        var number: UInt64 = 1
        while true {
            let id = Bytes16(word0: 0, word1: number)
            let slot = RedisSlot(ofTag: Base64.encodeURLBytes(id.array))
            number += 1
            guard slot.number >= RedisSlot.count / 2, slot.rank > highestRecordRank else {
                continue
            }
            found[slot, default: []].append(id)
            if let ids = found[slot], ids.count == 8 { return ids }
        }
    }()

    static func slot(of isKey: Bool) -> RedisSlot {
        isKey ? key.slot : RedisSlot(ofTag: Base64.encodeURLBytes(challenges[0].array))
    }
}
