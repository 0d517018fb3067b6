import EventLoop
import SQLiteKeyStore
import Settings

/// What endangers a registry file, though it can be used.
extension StartRequirements {
    private var registryPath: String? {
        guard case .sqlite(let name) = settings.registry else { return nil }
        return File.resolved(name)
    }

    /// A registry that all users may change, or put another one in the place of.
    var openRegistry: [Fault] {
        guard let path = registryPath else { return [] }
        return File.placesOpenToChanges(path).map {
            Fault(
                setting: "registry",
                text: "\($0) can be changed by all users, who could add keys: chmod o-w \($0)")
        }
    }

    /// A registry that has another name, with which no gateway starts.
    func secondNames() -> [Fault] {
        guard let path = registryPath, SQLiteAdministration.hasOtherName(path: path) else {
            return []
        }
        return [
            Fault(
                setting: "registry",
                text: "\(path) has another name (a hard link), with which no gateway starts")
        ]
    }
}
