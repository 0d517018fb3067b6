import Bytes
import JSON

/// The results of a measurement.
struct LoadReport {
    var seconds = 0.0
    var serverSeconds = 0.0
    var ownSeconds = 0.0
    var errorCount = 0
    /// The number of requests that were answered in the measured time.
    var requestCount = 0
    /// The statuses of all answers; at a fixed rate also of those after the measured time.
    var statuses: [UInt16: Int] = [:]
    /// The number of requests that were due at the end but not sent; nil without a rate.
    var lateCount: Int?
    /// The number of requests that were due and not answered until the run gave up; nil without a
    /// rate.
    var unansweredCount: Int?
    /// The microseconds until the answer, or until the run gave up waiting for it.
    var latencies: [UInt32] = []

    /// The report as one JSON object on one line.
    func json(hasServer: Bool) -> String {
        var writer = JSONWriter()
        let count = Double(requestCount)
        writer.beginObject()
        writer.member("requests", int: Int64(requestCount))
        writer.member("seconds", double: seconds)
        writer.member("requests_per_second", double: seconds > 0 ? count / seconds : 0)
        writer.beginObject("statuses")
        for (status, count) in statuses.sorted(by: { $0.key < $1.key }) {
            writer.member(named: "\(status)", value: .integer(Int64(count)))
        }
        writer.endObject()
        writer.member("errors", int: Int64(errorCount))
        writer.beginObject("latency_us")
        let sorted = latencies.sorted()
        for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)] {
            let index = min(sorted.count - 1, Int(Double(sorted.count) * share))
            let value = sorted.isEmpty ? 0 : sorted[index]
            writer.member(named: name, value: .integer(Int64(value)))
        }
        writer.member("max", int: Int64(sorted.last ?? 0))
        writer.endObject()
        if let lateCount { writer.member("late", int: Int64(lateCount)) }
        if let unansweredCount { writer.member("unanswered", int: Int64(unansweredCount)) }
        if hasServer, count > 0 {
            writer.member("server_cpu_us_per_request", double: serverSeconds * 1e6 / count)
            writer.member("server_cpu_share", double: serverSeconds / seconds)
        }
        writer.member("load_cpu_share", double: seconds > 0 ? ownSeconds / seconds : 0)
        writer.endObject()
        let buffer = writer.finish()
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }
}
