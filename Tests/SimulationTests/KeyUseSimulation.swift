import Attestation
import Bytes
import Foundation
import KeyStore
import Settings
import Testing

@testable import Gateway

/// One gateway's memory of keys, by the limits that the reference recommends: each request is
/// judged, and then counted, as an exchange does it. The clock is the test's.
final class KeyUseSimulation {
    struct Request {
        var key: UInt64
        var user: UInt64?
        /// IPv4 or IPv6.
        var address: Bytes16
        var counter: UInt32
    }

    let tallies: SignalTallies
    private let rules: SiteSignals
    private let pseudonyms: Pseudonyms
    /// Nanoseconds since 1970.
    var now: UInt64 = 1_800_000_000 * 1_000_000_000
    /// The most that was counted, by the names of the signals.
    private(set) var highest: [String: Int] = [:]

    static let hour: UInt64 = 3600 * 1_000_000_000

    init() throws {
        let loader = SettingsLoader(
            processorCount: 1, environment: { _ in nil },
            fileReader: { _ in .failure(FileReadFailure("none")) })
        let text = """
            listeners: [{ bind: '127.0.0.1:8080' }]
            apps: [{ id: ABCDE12345.com.example.app }]
            registry: { sqlite: /r.db }
            upstreams: { api: { servers: ['127.0.0.1:9001'] } }
            routes: [{ name: all, path: '/*', upstream: api, attest: { mode: enforce } }]
            signals:
              users_per_key: { cookie: session }
              addresses_per_key: {}
              networks_per_key: {}
              counter_gaps: {}

            """
        let settings = try loader.load(text: text, fileName: "f").get().settings
        rules = try #require(SiteSignals(settings, [:]))
        tallies = SignalTallies(subjectCountMax: settings.signals.subjectCountMax)
        pseudonyms = try #require(Pseudonyms(secrets: [[UInt8](repeating: 7, count: 32)]))
    }

    static func keyID(_ number: UInt64) -> KeyID {
        KeyID(
            digest: Bytes32(
                word0: KeyHash.mixed(number), word1: number, word2: 0, word3: 0))
    }

    /// The names of the signals that the request raises.
    func raised(by request: Request) -> [String] {
        let subject = SignalSubject.key(Self.keyID(request.key))
        var names: [String] = []
        let address = pseudonyms.hash(ofNetwork: request.address.limitedNetwork)
        let network = pseudonyms.hash(ofNetwork: request.address.providerNetwork)
        for (rule, hash) in [
            (rules.keyUsers, request.user.map(KeyHash.mixed)), (rules.keyAddresses, address),
            (rules.keyNetworks, network),
        ] {
            guard let rule, let hash else { continue }
            let count = tallies.expected(hash, of: subject, for: rule.signal, now: now)
            judge(count, rule, &names)
            _ = tallies.count(
                .distinct(hash), of: subject, for: rule.signal, window: rule.windowNanoseconds,
                now: now)
        }
        if let rule = rules.counterGaps {
            judge(tallies.gapCount(of: subject, now: now), rule, &names)
            _ = tallies.count(
                .counter(request.counter), of: subject, for: rule.signal,
                window: rule.windowNanoseconds, now: now)
        }
        return names
    }

    private func judge(_ count: Int, _ rule: SiteSignals.Rule, _ names: inout [String]) {
        if count > rule.countMax { names.append(rule.name) }
        if count > highest[rule.name, default: 0] { highest[rule.name] = count }
    }

    // MARK: addresses

    static func ipv4(_ value: UInt32) -> Bytes16 {
        Bytes16(word0: 0, word1: 0xFFFF_0000_0000 | UInt64(value))
    }

    /// An address below the /64 `network`.
    static func ipv6(_ network: UInt64, host: UInt64) -> Bytes16 {
        Bytes16(word0: network, word1: host)
    }
}

/// An honest device on the move, hour by hour: at home, at work, in cafes and on the cellular
/// network, whose addresses change every hour and come from a few pools; some have a VPN, and some
/// days are travelled through.
struct Roamer {
    let key: UInt64
    private let seed: UInt64
    /// Hours of a day on the cellular network.
    let cellularHours: Int
    let cafes: Int
    let hasVPN: Bool
    /// Each of so many days is travelled; 0 for none.
    let travelEvery: Int
    /// Grows with what its days can count: the most restless ones are known without living them.
    let restlessness: Int
    private var counter: UInt32 = 0

    init(_ key: UInt64, seed: UInt64) {
        self.key = key
        self.seed = KeyHash.mixed(seed &+ key)
        var numbers = SeededNumbers(seed: self.seed)
        cellularHours = numbers.below(17)
        cafes = numbers.below(5)
        hasVPN = numbers.isOne(in: 8)
        travelEvery = numbers.isOne(in: 5) ? 1 + numbers.below(7) : 0
        let travel = travelEvery == 1 ? 12 : travelEvery > 0 ? 8 : 0
        restlessness = 2 * cellularHours + cafes + (hasVPN ? 3 : 0) + travel
    }

    private func number(_ kind: UInt64, _ index: UInt64 = 0) -> UInt64 {
        KeyHash.mixed(seed &+ kind &* 0x1_0001 &+ index &* 0x9E37_79B9)
    }

    /// The requests of an hour since the start: one by IPv4, and one by IPv6 where there is any.
    mutating func requests(inHour hour: Int, _ numbers: inout SeededNumbers) -> [KeyUseSimulation
        .Request]
    {
        let day = UInt64(hour / 24)
        let travels = travelEvery > 0 && hour / 24 % travelEvery == 0
        let host = numbers.next()
        var addresses: [Bytes16] = []
        switch hour % 24 {
        case ..<(24 - cellularHours) where travels:
            // A hotel, a train, an airport, and a carrier abroad.
            let place = UInt32(truncatingIfNeeded: number(10, day &* 4 &+ UInt64(hour % 24 / 6)))
            addresses = [KeyUseSimulation.ipv4(place)]
        case ..<(24 - cellularHours) where hour % 24 < cafes * 2:
            addresses = [
                KeyUseSimulation.ipv4(
                    UInt32(truncatingIfNeeded: number(11, day &* 8 &+ UInt64(hour % 24 / 2))))
            ]
        case ..<(24 - cellularHours):
            let isAtWork = (9..<17).contains(hour % 24)
            let place: UInt64 = isAtWork ? 12 : 13
            // A private address of every hour, below a /64 that stays for the day.
            addresses = [
                KeyUseSimulation.ipv4(UInt32(truncatingIfNeeded: number(place))),
                KeyUseSimulation.ipv6(
                    number(place) & ~0xFFFF_FFFF | number(place, day) & 0xFFFF_FFFF, host: host),
            ]
        default:
            // Behind NAT: any address of four pools, abroad of two more. IPv6: a /64 every hour.
            let pool = numbers.below(travels ? 6 : 4)
            addresses = [
                KeyUseSimulation.ipv4(
                    UInt32(truncatingIfNeeded: 0x6440_0000 + pool << 16 + numbers.below(65_536))),
                KeyUseSimulation.ipv6(
                    0x2A01_0598_0000_0000 | (numbers.next() & 0xFFFF_FFFF), host: host),
            ]
        }
        if hasVPN, numbers.isOne(in: 6) {
            addresses = [
                KeyUseSimulation.ipv4(
                    UInt32(truncatingIfNeeded: number(14) & 0xFFFF_0000) + UInt32(numbers.below(4)))
            ]
        }
        return addresses.map { address in
            // Of a hundred requests two are lost, and one is refused and signed again.
            counter += numbers.below(100) < 3 ? 2 : 1
            return KeyUseSimulation.Request(
                key: key, user: key &* 4 &+ UInt64(numbers.below(3)), address: address,
                counter: counter)
        }
    }
}
