import JSON

/// `sallyport version`: prints the program's version.
enum VersionCommand {
    static let usage = """
        usage: sallyport version [--json]

          --json   print one JSON object
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: [], flags: ["--json"], usage: usage)
        guard arguments.operands.isEmpty else { Exit.usage(usage) }
        guard arguments.wantsJSON else { return Console.print("sallyport " + Version.text) }
        MachineOutput.print { $0.member("version", string: Version.text) }
    }
}
