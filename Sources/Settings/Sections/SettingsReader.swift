/// Reads the whole configuration, then checks the conditions between its parts.
struct SettingsReader {
    static let workerCountMax = 256

    let processorCount: Int

    func read(_ root: Field) -> Settings {
        let whole = Kind.section(form, keepsFaulty: true) { section, settings in
            settings.completeRevocation(&section)
            CrossChecks(settings: settings, context: section.context).run()
        }
        return whole.read(root) ?? form.start
    }

    /// One for each processor: what nginx and HAProxy call `auto`.
    var automaticWorkerCount: Int { min(max(1, processorCount), Self.workerCountMax) }

    var workers: Kind<Int> {
        let number = Kind<Int>.count(
            1...Self.workerCountMax, "one thread for each processor is enough")
        return Kind(.either([.words(["auto"]), number.shape])) { field in
            guard let text = field.text() else { return nil }
            if text.value == "auto" { return automaticWorkerCount }
            if Quantity.count(text.value) != nil { return number.read(field) }
            let ending = Suggestion.ending(for: text.value, among: ["auto"], listing: false)
            field.error("\(text.shown) is neither auto nor a number of threads\(ending)")
            return nil
        } yaml: {
            number.yaml($0)
        }
    }
}
