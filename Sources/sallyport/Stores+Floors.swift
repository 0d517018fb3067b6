import AppAttest
import KeyStore
import Settings

extension Stores {
    /// What the names of files begin with that hold accepted counters beside a registry.
    static func floorBase(besideRegistry path: String) -> String { path + ".floors" }

    /// With what earlier gateways have accepted beside this registry, however they ended. `holds`:
    /// whether the counter store goes on with a key.
    static func floors(_ settings: Settings, holds: (KeyID) -> Bool) -> FloorTable {
        // Beside a database there is no place for a file.
        var base: String?
        if case .sqlite(let path) = settings.registry {
            base = floorBase(besideRegistry: path)
        }
        let table = FloorTable(lifeMilliseconds: floorLife(settings), beside: base)
        table.takeOver(now: monotonicMilliseconds, holds: holds)
        return table
    }
}
