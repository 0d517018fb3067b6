package import EventLoop
package import KeyStore

/// Once a second: floors go to the registry, and their file gets room. Now and then what was
/// accepted is brought to the disk, and what gateways that were killed have left is taken over.
/// Tells if counters are kept in memory alone.
package final class FloorKeeper {
    /// How many turns pass between two syncs, which is what a power cut loses. A write each second
    /// would wear the disk for little.
    private static let syncTurnCount = 5

    private let loop: EventLoop
    private let floors: FloorTable
    private let registry: any Registry
    private let log: any EventLog
    private var turn = 0
    private var sync: BlockingCall<IOError?>?
    private var syncFailure: IOError?
    private var isKept = true

    package init(
        loop: EventLoop, floors: FloorTable, registry: any Registry, log: any EventLog
    ) {
        self.loop = loop
        self.floors = floors
        self.registry = registry
        self.log = log
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
        floors.raise(in: registry, now: now)
        let failure = floors.makeRoom()
        tell(failure ?? syncFailure)
        turn += 1
        if turn % Self.syncTurnCount == 0 { startSync(now: now) }
    }

    private func startSync(now: Int64) {
        guard sync == nil else { return }
        let floors = floors
        do throws(IOError) {
            sync = try BlockingCall(name: "floors", loop: loop) {
                floors.takeOver(now: now)
                return floors.takeUnsynced() ? floors.sync() : nil
            } handler: { [unowned self] failure in
                sync = nil
                syncFailure = failure
                announce()
            }
        } catch {
            syncFailure = error
        }
    }

    private func tell(_ failure: IOError?) {
        guard (failure == nil) != isKept else { return }
        isKept.toggle()
        if let failure {
            log.event(
                level: "error", "floors_unkept",
                "\(failure); counters accepted from now on may be in memory only, and a kill or "
                    + "power cut would lose them")
        } else {
            log.event(
                level: "info", "floors_kept", "the floor file can be written again")
        }
    }
}
