import EventLoop
import Glibc

/// The processor time that a server and this process have used.
enum ProcessUsage {
    struct Sample {
        var serverSeconds = 0.0
        var ownSeconds = 0.0
    }

    static func sample(of processID: Int?) -> Sample {
        var sample = Sample()
        sample.ownSeconds = seconds(ofStat: "/proc/self/stat") ?? 0
        if let processID { sample.serverSeconds = seconds(ofStat: "/proc/\(processID)/stat") ?? 0 }
        return sample
    }

    /// The user and system time of every thread (proc(5), fields 14 and 15).
    private static func seconds(ofStat path: String) -> Double? {
        guard let bytes = try? File.read(path, byteCountMax: 4096) else { return nil }
        // The second field is a name in brackets, which may hold spaces.
        let text = String(decoding: bytes, as: UTF8.self)
        guard let bracket = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: bracket)...].split(separator: " ")
        guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12])
        else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}
