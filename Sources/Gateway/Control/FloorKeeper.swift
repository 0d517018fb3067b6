import EventLoop
import KeyStore

/// Once a second: floors go to the registry, their file gets room, and what was accepted is
/// brought to the disk. Tells where counters are kept in memory alone.
final class FloorKeeper {
    /// What a power cut loses: a write each second would wear the disk for little.
    private static let syncTurnCount = 5

    private let loop: EventLoop
    private let hub: Hub
    private var turn = 0
    private var sync: BlockingCall<IOError?>?
    private var syncFailure: IOError?
    private var isKept = true

    init(loop: EventLoop, hub: Hub) {
        self.loop = loop
        self.hub = hub
    }

    func announce() {
        guard let loss = hub.floors.loss else { return }
        hub.logs.event(
            level: "error", "floors_unread",
            "\(loss); counters that the registry did not have yet may be accepted once more,"
                + " under fresh challenges")
    }

    func tend(now: Int64) {
        hub.floors.raise(in: hub.registry, now: now)
        let failure = hub.floors.makeRoom()
        tell(failure ?? syncFailure)
        turn += 1
        if turn % Self.syncTurnCount == 0 { startSync() }
    }

    private func startSync() {
        guard sync == nil, hub.floors.takeUnsynced() else { return }
        let floors = hub.floors
        do throws(IOError) {
            sync = try BlockingCall(name: "floors", loop: loop) {
                floors.sync()
            } handler: { [unowned self] failure in
                sync = nil
                syncFailure = failure
            }
        } catch {
            syncFailure = error
        }
    }

    private func tell(_ failure: IOError?) {
        guard (failure == nil) != isKept else { return }
        isKept.toggle()
        if let failure {
            hub.logs.event(
                level: "error", "floors_unkept",
                "\(failure); what is accepted from now on may be in memory alone, and a kill or"
                    + " power cut would lose it")
        } else {
            hub.logs.event(
                level: "info", "floors_kept", "the file of floors takes everything again")
        }
    }
}
