import Bytes
import EventLoop
import Telemetry

@testable import Gateway

/// What befalls a fleet from some minute on.
enum FleetFault: CaseIterable {
    /// Apple's servers attest no key.
    case appleDown
    /// A release lacks its entitlement.
    case buildBroken
    /// The keys of all devices with one system are gone.
    case keysDying
}

/// A fleet of apps and the gateway that hears of their failures, on a clock that steps by minutes.
/// A seed determines everything.
///
/// What they report goes through the gateway's own parser, limits and counts. Devices open their
/// app three times a day, less by night; some are new, some have lost their key, some networks and
/// some of Apple's answers fail, as on any day.
struct Fleet {
    private enum Key { case none, good, gone }

    private struct Device {
        var system: Int
        var version: Int
        let network: Int
        let isSupported: Bool
        var key = Key.good
        var isStruck = false
    }

    static let deviceCount = 100_000
    static let appID = "ABCDE12345.com.example.app"
    static let versions = ["100", "101", "102", "103"]
    static let systems = ["26.3", "26.4", "26.5", "27.0", "27.1", "27.2"]
    /// The system whose keys die; three of ten devices have it.
    static let dyingSystem = 4
    private static let versionShares = [5, 10, 85, 0]
    private static let systemShares = [5, 10, 15, 40, 30, 0]
    /// Carriers put many behind one address.
    private static let networkCount = 20_000

    let failures = ClientFailures()
    private let limiter = RateLimiter()
    private var numbers: SeededNumbers
    private var devices: [Device] = []
    /// Those who try to enrol again, by the minute.
    private var waiting: [Int: [(device: Int, attempt: Int)]] = [:]
    private(set) var minute: Int
    private(set) var enrolledCount: UInt64 = 0
    /// When the newest version, and the newest system, come out.
    var releaseAt = Int.max
    var systemAt = Int.max
    private var fault: (kind: FleetFault, at: Int)?

    /// `minute`: of the day on which it begins.
    init(seed: UInt64, minute: Int = 0) {
        numbers = SeededNumbers(seed: seed)
        self.minute = minute
        devices.reserveCapacity(Self.deviceCount)
        for _ in 0..<Self.deviceCount {
            devices.append(
                Device(
                    system: numbers.choice(Self.systemShares),
                    version: numbers.choice(Self.versionShares),
                    network: numbers.below(Self.networkCount), isSupported: !numbers.isOne(in: 100))
            )
        }
    }

    mutating func strike(_ kind: FleetFault, at minute: Int) {
        fault = (kind, minute)
        if kind == .buildBroken { releaseAt = minute }
    }

    private func isStruck(by kind: FleetFault) -> Bool {
        fault.map { $0.kind == kind && minute >= $0.at } ?? false
    }

    mutating func step() {
        for (device, attempt) in waiting.removeValue(forKey: minute) ?? [] {
            enrol(device, attempt: attempt)
        }
        for _ in 0..<launchCount { launch(numbers.below(Self.deviceCount)) }
        minute += 1
    }

    /// Three a day and device: most at three in the afternoon, and a quarter of those by night.
    private var launchCount: Int {
        let mean = Self.deviceCount * 3 / 1440
        let distance = abs((minute % 1440) - 900)
        let hours = min(distance, 1440 - distance) / 60
        return mean * (160 - hours * 10) / 100
    }

    // MARK: one device

    private mutating func launch(_ index: Int) {
        let newestVersion = Self.versions.count - 1
        if minute >= releaseAt, numbers.isOne(in: 3) { devices[index].version = newestVersion }
        if minute >= systemAt, numbers.isOne(in: 8) {
            let isNew = devices[index].system != Self.systems.count - 1
            devices[index].system = Self.systems.count - 1
            if isNew, numbers.isOne(in: 200) { devices[index].key = .gone }
        }
        if numbers.isOne(in: 150) {
            devices[index].key = .none
        } else if numbers.isOne(in: 600), devices[index].key == .good {
            devices[index].key = .gone
        }
        if isStruck(by: .keysDying), devices[index].system == Self.dyingSystem,
            !devices[index].isStruck
        {
            devices[index].isStruck = true
            if devices[index].key == .good { devices[index].key = .gone }
        }
        guard devices[index].isSupported else { return report(index, "support", "unsupported") }
        if isStruck(by: .buildBroken), devices[index].version == newestVersion {
            return report(index, "assert", "featureUnsupported")
        }
        switch devices[index].key {
        case .good:
            if numbers.isOne(in: 300) { report(index, "request", "timedOut") }
        case .gone:
            report(index, "assert", "invalidKey")
            devices[index].key = .none
            enrol(index, attempt: 1)
        case .none: enrol(index, attempt: 1)
        }
    }

    /// The client's own waits: twice as long after each failure. In the first minute the app has
    /// use for three attempts.
    private mutating func enrol(_ index: Int, attempt: Int) {
        guard devices[index].key == .none else { return }
        if let (phase, code) = enrolmentFailure() {
            report(index, phase, code, attempt: attempt)
            switch attempt {
            case ..<3: enrol(index, attempt: attempt + 1)
            case ..<7:
                waiting[minute + 1 << (attempt - 3), default: []].append((index, attempt + 1))
            default: break
            }
        } else {
            devices[index].key = .good
            enrolledCount += 1
        }
    }

    private mutating func enrolmentFailure() -> (phase: String, code: String)? {
        let chance = numbers.below(1000)
        if isStruck(by: .appleDown) {
            return ("attest", chance < 850 ? "serverUnavailable" : "unknownSystemFailure")
        }
        return switch chance {
        case ..<10: ("attest", "serverUnavailable")
        case ..<13: ("attest", "unknownSystemFailure")
        case ..<15: ("attest", "invalidInput")
        case ..<35: ("challenge", "offline")
        case ..<36: ("verify", "refused")
        default: nil
        }
    }

    private func report(_ index: Int, _ phase: String, _ code: String, attempt: Int = 1) {
        let device = devices[index]
        let text =
            "phase=\(phase);code=\(code);os=\(Self.systems[device.system]);try=\(attempt)"
            + ";app=com.example.app;version=\(Self.versions[device.version])"
        let report = (try? FailureReport(header: Array(text.utf8).span)) ?? .unreadable
        let now = MonotonicInstant(nanoseconds: UInt64(minute) * 60_000_000_000)
        let network = Bytes16(word0: 0x2001_0DB8 << 32, word1: UInt64(device.network))
        guard limiter.take(ClientFailures.rateLimit, network, now: now) == nil else {
            return failures.drop()
        }
        failures.count(report, apps: [Self.appID], at: now)
    }
}

extension SeededNumbers {
    /// An index, with a chance by its share.
    mutating func choice(_ shares: [Int]) -> Int {
        var number = below(shares.reduce(0, +))
        for (index, share) in shares.enumerated() {
            if number < share { return index }
            number -= share
        }
        return 0
    }
}
