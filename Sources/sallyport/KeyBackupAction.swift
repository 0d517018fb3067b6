import Bytes
import Gateway
import JSON
import KeyStore
import SQLiteKeyStore
import Settings

/// `sallyport keys backup`: makes a complete copy of an SQLite registry while gateways write to it.
enum KeyBackupAction {
    static func run(_ arguments: Arguments, _ settings: Settings) throws {
        guard arguments.operands.count == 1, let target = arguments.operands.first else {
            Exit.usage(KeysCommand.usage)
        }
        guard case .sqlite(let path) = settings.registry else {
            Exit.failed("a PostgreSQL registry is backed up by pg_dump or a base backup")
        }
        let registry = try SQLiteAdministration(path: path)
        registry.author = .ofCommand()
        let bar = ProgressBar("copying", "pages", isQuiet: arguments.isQuiet)
        // Before the registry is read, which has the counters that leave the files meanwhile.
        let accepted = Stores.floorLocation(settings).map(FloorInheritance.reading)
        for loss in accepted?.losses ?? [] {
            Console.complain("sallyport: \(loss); the copy lacks counters that only it holds")
        }
        let count = try registry.backUp(to: target, floors: accepted?.floors ?? []) { done, total in
            bar.show(done, share: total > 0 ? Double(done) / Double(total) : nil)
        }
        bar.clear()
        do throws(StoreError) {
            try registry.append(
                AuditNote(.backUp, target, outcome: "done", detail: String(counting: count, "key")))
        } catch {
            // A copy changes nothing, and is needed most on a full disk.
            Console.complain(
                "sallyport: the copy \(target) is whole, but the audit log has no entry of it:"
                    + " \(error)"
            )
        }
        guard arguments.wantsJSON else {
            return
                Console.print("\(target): \(String(counting: count, "key"))")
        }
        MachineOutput.print { writer in
            writer.member("file", string: target)
            writer.member("keys", int: Int64(count))
        }
    }
}
