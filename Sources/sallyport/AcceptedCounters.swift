import AppAttest
import Gateway
import KeyStore
import Settings

/// Counters that gateways have accepted and an SQLite registry may not have yet: they lie beside
/// it, also while a gateway runs and after its clean stop. A database has none beside it: what a
/// gateway has accepted is in its memory, and in the database once it has stopped.
struct AcceptedCounters {
    private var highest: [KeyID: UInt32] = [:]

    /// To be read before the registry: what leaves the files meanwhile is in it.
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
