import Settings

/// `sallyport check`: every error of a configuration at once, or what it amounts to.
enum CheckCommand {
    static let usage = """
        usage: sallyport check -c FILE [--print]

          --print   print the configuration as it is understood, every default included
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config"], flags: ["--print"], usage: usage)
        let path = ConfigurationFile.path(arguments, usage: usage)
        let loaded = ConfigurationFile.loadOrExit(path)
        if arguments.flags.contains("--print") {
            Console.write(SettingsPrinter.text(of: loaded.settings), to: 1)
        } else {
            Console.print("\(path): ok")
        }
    }
}
