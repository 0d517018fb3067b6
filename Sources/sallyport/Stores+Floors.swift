import Attestation
import KeyStore
import Settings

extension Stores {
    /// The places of the files of accepted counters. Nil for a registry that is no file, because
    /// there is no place beside it.
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

    /// The floors, with the counters that earlier gateways have accepted beside this registry,
    /// however they ended. `holds`: true if the counter store goes on with a key.
    static func floors(_ settings: Settings, holds: (KeyID) -> Bool) -> FloorTable {
        let table = FloorTable(
            lifeMilliseconds: floorLife(settings), at: floorLocation(settings))
        table.takeOver(now: monotonicMilliseconds, isStart: true, holds: holds)
        table.bringToDisk(now: monotonicMilliseconds)
        return table
    }
}
