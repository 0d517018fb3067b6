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
        let requirements = StartRequirements(settings: loaded.settings)
        // Of this machine and this user, which may be others than those that the gateway runs on.
        let warnings =
            requirements.placeFaults() + requirements.openSecrets(configurationPath: path)
        for fault in warnings {
            Console.complain("warning: \(fault.setting): \(fault.text)")
        }
        let faults = requirements.keyFaults()
        for fault in faults { Console.complain("\(path): \(fault.setting): \(fault.text)") }
        if !faults.isEmpty { Exit.with(.configuration) }
        if arguments.flags.contains("--print") {
            Console.write(SettingsPrinter.text(of: loaded.settings), to: 1)
        } else {
            Console.print("\(path): ok")
        }
    }
}
