import Bytes
import JSON

/// Prints `--json` output: one JSON object on each line of standard output.
enum MachineOutput {
    static func print(_ write: (inout JSONWriter) -> Void) { Console.print(line(write)) }

    static func line(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        write(&writer)
        writer.endObject()
        return String(decoding: writer.finish().readable.array, as: UTF8.self)
    }
}

extension Arguments {
    var wantsJSON: Bool { flags.contains("--json") }
}
