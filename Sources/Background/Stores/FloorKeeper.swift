import EventLoop
package import KeyStore

/// Sends floors to the registry once a second, makes room for more in memory, and reports how far
/// the copy on the disk is behind. A thread of its own writes that copy (``FloorWriter``).
package final class FloorKeeper {
    /// The lag that is reported: twice that of a healthy disk, which has one sync a second.
    package static let lagMillisecondsMax: Int64 = 2000
    /// The time for which the end of the gateway waits for the disk.
    private static let stopMilliseconds = 2000

    private let floors: FloorTable
    private let registry: any Registry
    private let log: any EventLog
    private let writer: FloorWriter?
    private var told: ToldState<Trouble>

    /// The problem that keeps accepted counters from outliving the process.
    private enum Trouble {
        case none
        case disk
        case memory
    }

    package init(
        floors: FloorTable, registry: any Registry, log: any EventLog
    ) throws {
        self.floors = floors
        self.registry = registry
        self.log = log
        told = ToldState(.none, log: log)
        writer = floors.diskPath == nil ? nil : try FloorWriter(floors)
    }

    package func announce() {
        for loss in floors.takeLosses() {
            log.event(
                level: "error", "floors_unread",
                "\(loss); counters that the registry did not have yet may be accepted once more,"
                    + " under fresh challenges")
        }
    }

    package func tend(now: Int64) {
        announce()
        floors.raise(in: registry, now: now)
        let lag = floors.lag(now: now)
        floors.setBehind(lag > Self.lagMillisecondsMax)
        let memoryFailure = floors.makeRoom()
        if floors.isBehind {
            tell(
                .disk,
                "the last \(lag / 1000) s of accepted counters are not on the disk: "
                    + (floors.diskFailure?.description ?? "it does not answer")
                    + "; a power cut would lose them, and so would a kill if counters are not kept"
                    + " in memory (counters.floors_directory)")
        } else if let memoryFailure {
            tell(
                .memory,
                "\(memoryFailure); counters are kept on the disk alone, and a kill would lose those"
                    + " accepted in the last 0.1 s")
        } else {
            tell(.none, "")
        }
    }

    /// Ends the thread that writes, unless the disk blocks it.
    package func end() { writer?.stop(withinMilliseconds: Self.stopMilliseconds) }

    private func tell(_ trouble: Trouble, _ words: String) {
        told.change(to: trouble, at: .now()) {
            guard trouble == .none else {
                return .init(level: "error", name: "floors_unkept", text: words)
            }
            let path = floors.diskPath.map { " in \($0)" } ?? ""
            return .init(
                level: "info", name: "floors_kept", text: "accepted counters are kept again" + path)
        }
    }
}
