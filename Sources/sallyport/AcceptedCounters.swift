import Attestation
import Gateway
import KeyStore
import Settings

/// Counters that gateways have accepted and an SQLite registry may not have yet. Their files lie
/// beside it, also while a gateway runs and after its clean stop. For a database there are no such
/// files: the counters are in the gateway's memory, and in the database once it has stopped.
struct AcceptedCounters {
    private var highest: [KeyID: UInt32] = [:]

    /// Must be read before the registry, because counters leave these files for the registry
    /// meanwhile.
    init(_ settings: Settings) {
        guard let location = Stores.floorLocation(settings) else { return }
        let accepted = FloorInheritance.reading(location)
        for loss in accepted.losses {
            Console.complain("sallyport: \(loss); counters that only it holds are left out")
        }
        for floor in accepted.floors {
            highest[floor.keyID] = max(floor.counter, highest[floor.keyID] ?? 0)
        }
    }

    /// The record of the registry with the highest counter that was accepted.
    func applied(to record: KeyRecord) -> KeyRecord { record.raised(to: highest[record.keyID]) }
}
