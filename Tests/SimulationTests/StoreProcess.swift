/// What one Redis process keeps: lost with it, copied by a dump or to a replica.
struct StoreData {
    struct Device {
        var highest: UInt32
        /// Every counter up to here counts as used, beside `accepted`.
        var base: UInt32
        var accepted: Set<UInt32> = []
    }

    struct Spent {
        let counter: UInt32
        /// Milliseconds of the store's clock.
        let endsAt: Int64
    }

    /// What the gateway's script writes.
    struct Record {
        let incarnation: String
        let process: String
        let history: String
        /// When it was last looked at, in milliseconds of the store's clock.
        var time: Int64
    }

    var record: Record?
    var devices: [String: Device] = [:]
    var spent: [String: Spent] = [:]
    var revoked: Set<String> = []
}

/// A Redis server in a process's life: what the scripts of the gateway do in it, said anew.
final class StoreProcess {
    /// A part of the protocol that is left out, to see whether that is noticed.
    enum Lack {
        case nothing
        /// The script does not compare incarnations.
        case incarnation
        /// The script looks in one step and writes in another.
        case atomicity
        /// The script keeps nothing of a key that does not count.
        case phoneMarks
    }

    /// The names of its process and its replication history.
    private(set) var process: String
    private(set) var history: String
    private(set) var isMaster: Bool
    private(set) var data = StoreData()
    private let lack: Lack

    init(named names: inout NameSource, isMaster: Bool, lack: Lack) {
        process = names.next()
        history = names.next()
        self.isMaster = isMaster
        self.lack = lack
    }

    // MARK: faults

    /// Ends the process and starts another with `data`.
    func restart(_ names: inout NameSource, with data: StoreData) {
        process = names.next()
        history = names.next()
        isMaster = true
        self.data = data
    }

    func flush() { data = StoreData() }

    func promote(_ names: inout NameSource) {
        isMaster = true
        history = names.next()
    }

    func demote() { isMaster = false }

    /// A replica has received everything up to now.
    func follow(_ master: StoreProcess) {
        data = master.data
        history = master.history
    }

    func mark(revoked name: String) { data.revoked.insert(name) }

    // MARK: scripts

    private static let stepMilliseconds: Int64 = 5_000
    private static let lookMilliseconds: Int64 = 30_000

    /// `IncarnationScript`: the record, or a new one under `fresh`; nil where this is no master.
    func look(
        fresh: String, seen: (history: String, time: Int64), now: Int64
    ) -> StoreData.Record? {
        guard isMaster else { return nil }
        if var record = data.record, record.process == process, record.history == history,
            isInTime(record, now), seen.history != history || record.time >= seen.time
        {
            record.time = max(record.time, now)
            data.record = record
            return record
        }
        let record = StoreData.Record(
            incarnation: fresh, process: process, history: history, time: now)
        data.record = record
        return record
    }

    private func isInTime(_ record: StoreData.Record, _ now: Int64) -> Bool {
        (record.time - Self.stepMilliseconds...record.time + Self.lookMilliseconds).contains(now)
    }

    /// What `CounterScript` is called with.
    struct Call {
        let revocation: String
        let device: String
        let spent: String
        let incarnation: String
        /// The counter, or the mark of a key that does not count.
        let counter: UInt32
        /// 0 of a key that does not count.
        let windowSize: Int
        let floor: UInt32
        let expiresAt: Int64
        let graceMilliseconds: Int64
        let notedTime: Int64
    }

    /// What it has found out, and not written yet.
    struct Finding {
        let code: Int
        /// Nil where nothing is to be written.
        let change: (StoreData.Device?, StoreData.Spent)?
    }

    static let accepted = 11

    /// The first half of `CounterScript`; nil where this is no master.
    func check(_ call: Call, now: Int64) -> Finding? {
        func refused(_ code: Int) -> Finding { Finding(code: code, change: nil) }
        if data.revoked.contains(call.revocation) { return refused(14) }
        if lack != .incarnation {
            guard let record = data.record, record.incarnation == call.incarnation,
                record.history == history, isInTime(record, now), record.time >= call.notedTime
            else { return refused(15) }
            guard isMaster else { return nil }
        }
        if let spent = data.spent[call.spent], spent.endsAt > now {
            return refused(spent.counter == call.counter ? 16 : 12)
        }
        if call.expiresAt <= now { return refused(20) }
        let spent = StoreData.Spent(
            counter: call.counter, endsAt: call.expiresAt + call.graceMilliseconds)
        if call.windowSize == 0 {
            return isMaster ? Finding(code: Self.accepted, change: (nil, spent)) : nil
        }
        if call.counter <= call.floor { return refused(18) }
        var device =
            data.devices[call.device] ?? StoreData.Device(highest: call.floor, base: call.floor)
        if device.highest < call.floor {
            device = StoreData.Device(highest: call.floor, base: call.floor)
        }
        if call.counter <= device.highest {
            let isUsed = call.counter <= device.base || device.accepted.contains(call.counter)
            let distance = Int(device.highest - call.counter)
            if isUsed { return refused(13) }
            if distance >= call.windowSize { return refused(18) }
        }
        guard isMaster else { return nil }
        device.highest = max(device.highest, call.counter)
        device.accepted.insert(call.counter)
        return Finding(code: Self.accepted, change: (device, spent))
    }

    /// The second half.
    func write(_ finding: Finding, of call: Call) {
        guard let (device, spent) = finding.change else { return }
        if device == nil, lack == .phoneMarks { return }
        if let device { data.devices[call.device] = device }
        data.spent[call.spent] = spent
    }

    var isSplittingScripts: Bool { lack == .atomicity }
}

/// Names that were never used before: 40 hexadecimal digits, as Redis has them.
struct NameSource {
    private var count = 0

    mutating func next() -> String {
        count += 1
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 40 - digits.count) + digits
    }
}
