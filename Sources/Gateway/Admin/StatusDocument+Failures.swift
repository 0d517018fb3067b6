import JSON
import Telemetry

extension StatusDocument {
    /// The failures that apps reported within a range, the most frequent first.
    func failureCauses(_ range: HistoryRange) -> [(name: FailureCause, count: UInt64)] {
        let counts = history.failureCauses.names.map { name in
            (name, history.failureCauses.sums(name, range, at: history.minute)[0])
        }
        return FailureList.sorted(Dictionary(uniqueKeysWithValues: counts.filter { $0.1 > 0 }))
            .sorted { $0.count > $1.count }
    }

    func failureVersions(_ range: HistoryRange) -> [(name: FailureVersion, count: UInt64)] {
        let counts = history.failureVersions.names.map { name in
            (name, history.failureVersions.sums(name, range, at: history.minute)[0])
        }
        return FailureList.sorted(Dictionary(uniqueKeysWithValues: counts.filter { $0.1 > 0 }))
            .sorted { $0.count > $1.count }
    }

    /// Writes the sums alone: a count for each slot and name would be most of the document.
    func writeFailures(_ range: HistoryRange, _ writer: inout JSONWriter) {
        writer.beginObject("client_failures")
        writer.beginArray("causes")
        for (name, count) in failureCauses(range) {
            writer.beginObject()
            writer.member("phase", string: name.phase.rawValue)
            writer.member("code", string: name.code.rawValue)
            writer.member("os", string: name.system)
            writer.member("count", unsigned: count)
            writer.endObject()
        }
        writer.endArray()
        writer.beginArray("versions")
        for (name, count) in failureVersions(range) {
            writer.beginObject()
            writer.member("app", string: name.app)
            writer.member("version", string: name.version)
            writer.member("code", string: name.code.rawValue)
            writer.member("count", unsigned: count)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
    }
}
