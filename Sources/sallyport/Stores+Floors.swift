import AppAttest
import EventLoop
import KeyStore
import Settings

/// What the last process has accepted with counters of its own, however it ended.
extension Stores {
    private static func path(besideRegistry path: String) -> String { path + ".floors" }

    private struct Inheritance {
        var floors: [(keyID: KeyID, counter: UInt32)] = []
        var loss: FloorFileError?

        init(_ path: String) {
            do throws(FloorFileError) {
                floors = try FloorFile.read(path)
            } catch {
                loss = error
            }
        }
    }

    /// Floors beside embedded counters, in a file of their own. No file keeps the gateway from its
    /// start: floors of the registry hold without it.
    static func floors(
        _ settings: Settings, beside registryPath: String, for counters: EmbeddedCounters
    ) -> FloorTable {
        let path = path(besideRegistry: registryPath)
        let inheritance = Inheritance(path)
        // Kept for whoever knows what it is. Where that fails the new file finds no place.
        if inheritance.loss != nil { try? File.rename(path, to: path + ".unread") }
        func table(_ file: FloorFile?, _ failure: IOError?) -> FloorTable {
            let floors = FloorTable(
                lifeMilliseconds: floorLife(settings), file: file, fileFailure: failure,
                loss: inheritance.loss)
            for (keyID, counter) in inheritance.floors {
                // Of a key that the counters go on with they know themselves what may still come
                // late.
                floors.note(
                    keyID, counter, as: counters.holds(keyID) ? .heard : .settled,
                    now: monotonicMilliseconds)
            }
            return floors
        }
        do throws(IOError) {
            let file = try FloorFile(path: path)
            let floors = table(file, nil)
            try file.publish()
            return floors
        } catch {
            return table(nil, error)
        }
    }

    /// Floors beside counters in Redis, in memory alone. A gateway that had counters of its own may
    /// have left some that the registry does not have; the file stays for whoever shares it.
    static func inheritedFloors(_ settings: Settings) -> FloorTable {
        guard case .sqlite(let registryPath) = settings.registry else {
            return FloorTable(lifeMilliseconds: floorLife(settings))
        }
        let inheritance = Inheritance(path(besideRegistry: registryPath))
        let floors = FloorTable(
            lifeMilliseconds: floorLife(settings), loss: inheritance.loss)
        for (keyID, counter) in inheritance.floors {
            floors.note(keyID, counter, as: .settled, now: monotonicMilliseconds)
        }
        return floors
    }
}
