import Settings

/// `sallyport schema`: what a configuration may hold, for editors or for people.
enum SchemaCommand {
    private static let usage = """
        usage: sallyport schema [--reference]

          Prints a JSON Schema of the configuration.
          --reference   print the settings as a page in Markdown instead
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(words, options: [], flags: ["--reference"], usage: usage)
        guard arguments.operands.isEmpty else { Exit.usage(usage) }
        let isReference = arguments.flags.contains("--reference")
        Console.write(isReference ? SettingsReference.text : SettingsSchema.text, to: 1)
    }
}
