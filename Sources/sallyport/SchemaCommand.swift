import Settings

/// `sallyport schema`: prints the form of a configuration, for editors or for people.
enum SchemaCommand {
    private static let usage = """
        usage: sallyport schema [--reference | --example]

          Prints a JSON Schema of the configuration.
          --reference   print the settings as a page in Markdown instead
          --example     print a commented configuration with every setting instead
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: [], flags: ["--reference", "--example"], usage: usage)
        guard arguments.operands.isEmpty, arguments.flags.count < 2 else { Exit.usage(usage) }
        if arguments.flags.contains("--reference") {
            Console.write(SettingsReference.text, to: 1)
        } else if arguments.flags.contains("--example") {
            Console.write(SettingsExample.text, to: 1)
        } else {
            Console.write(SettingsSchema.text, to: 1)
        }
    }
}
