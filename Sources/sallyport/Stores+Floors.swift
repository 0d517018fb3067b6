import AppAttest
import KeyStore
import Settings

extension Stores {
    /// The places of the files of accepted counters; nil for a registry that is no file, beside
    /// which there is no place for any.
    static func floorLocation(_ settings: Settings) -> FloorLocation? {
        guard case .sqlite(let path) = settings.registry else { return nil }
        let directory: FloorLocation.Directory =
            switch settings.floors.directory {
            case .standard: .standard
            case .path(let path): .path(path)
            case .off: .none
            }
        return FloorLocation(registryPath: path, directory: directory)
    }

    /// With what earlier gateways have accepted beside this registry, however they ended. `holds`:
    /// whether the counter store goes on with a key.
    static func floors(_ settings: Settings, holds: (KeyID) -> Bool) -> FloorTable {
        let table = FloorTable(
            lifeMilliseconds: floorLife(settings), at: floorLocation(settings))
        table.takeOver(now: monotonicMilliseconds, isStart: true, holds: holds)
        table.bringToDisk(now: monotonicMilliseconds)
        return table
    }
}
