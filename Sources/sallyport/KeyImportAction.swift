import Administration
import Attestation
import Bytes
import EventLoop
import JSON
import KeyStore
import RedisKeyStore
import Settings

/// `sallyport keys import`: writes JSON lines into the registry.
enum KeyImportAction {
    static func run(
        _ registry: any RegistryAdministration, _ arguments: Arguments, _ settings: Settings
    ) throws {
        guard arguments.operands.count <= 1 else { Exit.usage(KeysCommand.usage) }
        let path = arguments.operands.first ?? "-"
        let reader = try LineReader(path == "-" ? "/dev/stdin" : path)
        let now = WallClock.now().seconds
        let apps = Set(settings.apps.map(\.id))
        var lineNumber = 0
        var faultCount = 0
        let bar = ProgressBar("importing", "keys", isQuiet: arguments.isQuiet)
        let byteCount = path == "-" ? nil : File.byteCount(path)
        var (readCount, addedCount, writtenCount) = (0, 0, 0)
        func showProgress() {
            // Records are written much later than they are read, in the order of ids.
            let share = Double(writtenCount) / Double(max(1, addedCount))
            bar.show(
                writtenCount,
                share: byteCount.map { share * Double(readCount) / Double(max(1, $0)) })
        }
        func complain(_ message: String) {
            faultCount += 1
            bar.clear()
            Console.complain("\(path):\(lineNumber): \(message)")
        }
        let batch = registry.beginImport { keyID, conflict in
            faultCount += 1
            bar.clear()
            Console.complain("\(keyID.base64): left as it was: \(words(conflict))")
        } onWritten: {
            writtenCount = $0
            showProgress()
        }
        while let line = try reader.next() {
            lineNumber += 1
            readCount += line.count + 1
            showProgress()
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
            do throws(KeyLine.Failure) {
                let record = try KeyLine.parse(
                    line.span, now: now, bitNames: settings.deviceBitNames)
                guard record.status == .erased || apps.contains(record.appID) else {
                    complain("app_id \(record.appID) is not configured")
                    continue
                }
                addedCount += 1
                do {
                    try batch.add(record)
                } catch {
                    Exit.failed("\(error)")
                }
            } catch {
                complain(error.description)
            }
        }
        let summary = try batch.finish()
        bar.clear()
        report(summary, faulty: faultCount - summary.conflictCount, asJSON: arguments.wantsJSON)
        if faultCount > 0 { Exit.with(.failed) }
    }

    private static func report(_ summary: ImportSummary, faulty: Int, asJSON: Bool) {
        guard !asJSON else {
            return MachineOutput.print { writer in
                writer.member("imported", int: Int64(summary.addedCount))
                writer.member("unchanged", int: Int64(summary.unchangedCount))
                writer.member("made_stricter", int: Int64(summary.tightenedCount))
                writer.member("conflicts", int: Int64(summary.conflictCount))
                writer.member("faulty_lines", int: Int64(faulty))
            }
        }
        Console.print(
            "imported \(summary.addedCount), unchanged \(summary.unchangedCount), made stricter"
                + " \(summary.tightenedCount), conflicts \(summary.conflictCount),"
                + " faulty lines \(faulty)")
    }

    private static func words(_ conflict: ImportConflict) -> String {
        switch conflict {
        case .otherPublicKey: "it is known with another public key"
        case .otherApp: "it is known under another app"
        case .otherEnvironment: "it is known in the other environment"
        case .notActive(let status):
            "it is \(status.rawValue), and an import never reactivates a key"
        }
    }
}
