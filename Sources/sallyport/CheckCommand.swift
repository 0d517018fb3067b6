import Settings

/// `sallyport check`: shows all errors of a configuration at once, or a summary of it.
enum CheckCommand {
    static let usage = """
        usage: sallyport check [-c FILE] [--here] [--print | --json]

          --here          files that this user cannot use on this machine are errors, too
          --print         print the configuration with every default
          --json          print one JSON object with every error and warning
          --format json   the same
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config", "--format"], flags: ["--here", "--print", "--json"],
            usage: usage)
        arguments.refuseOperands(usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let format = arguments.value("--format") ?? (arguments.wantsJSON ? "json" : "text")
        let prints = arguments.flags.contains("--print")
        guard ["text", "json"].contains(format), !prints || format == "text" else {
            Exit.usage(usage)
        }
        let report = CheckReport(path: path, isHere: arguments.flags.contains("--here"))
        if format == "json" {
            Console.print(report.json)
        } else {
            report.complain()
            if prints, report.isGood, let settings = report.settings {
                Console.write(SettingsPrinter.text(of: settings), to: 1)
            } else if report.isGood {
                Console.print("\(path): ok")
            }
        }
        if !report.isGood { Exit.with(.configuration) }
    }
}
