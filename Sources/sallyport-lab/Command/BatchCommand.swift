import Glibc
import JSON

/// `sallyport-lab batch`: runs the commands of its input in one process, because starting one takes
/// longer than most commands do.
enum BatchCommand {
    private static let usage = """
        usage: sallyport-lab batch

        Runs the commands that it reads: each line is a JSON array of words, such as
        ["device", "show", "--state", "device.json"]. An empty line follows what a command prints.
        The first command that fails ends the batch with its own message and exit code.
        """
    private static let lineByteCountMax = 64 * 1024

    static func run(_ words: [String]) throws {
        _ = LabOptions(words, names: [], usage: usage)
        while let line = readLine() {
            let command = try Self.command(line)
            guard command[0] != "batch" else { throw LabError("a batch in a batch") }
            try Lab.run(command[0], Array(command.dropFirst()))
            print()
            // What waits in this process would keep the other end waiting.
            _ = fflush(nil)
        }
    }

    private static func command(_ line: String) throws -> [String] {
        let value = try? JSONValue.parse(Array(line.utf8).span, byteCountMax: lineByteCountMax)
        let words = value?.arrayValue?.map(\.stringValue)
        guard let words, !words.isEmpty, !words.contains(nil) else {
            throw LabError("not a JSON array of words: \(line)")
        }
        return words.compactMap { $0 }
    }
}
