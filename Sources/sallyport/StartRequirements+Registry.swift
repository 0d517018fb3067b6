import EventLoop
import SQLiteKeyStore
import Settings

/// Faults that endanger a registry file, although it can be used.
extension StartRequirements {
    private var registryPath: String? {
        guard case .sqlite(let name) = settings.registry else { return nil }
        return File.resolved(name)
    }

    /// A registry that all users may change or replace.
    var openRegistry: [Fault] {
        guard let path = registryPath else { return [] }
        return File.placesOpenToChanges(path).map {
            Fault(
                setting: "registry",
                text: "\($0) can be changed by all users, who could add keys: chmod o-w \($0)")
        }
    }

    /// A registry that has another name; no gateway starts with one.
    func secondNames() -> [Fault] {
        guard let path = registryPath, SQLiteAdministration.hasOtherName(path: path) else {
            return []
        }
        return [
            Fault(
                setting: "registry",
                text: "\(path) has another name (a hard link), so no gateway starts with it",
                endsStart: true)
        ]
    }
}
