/// One setting of a section: its key, where its value is kept, what the value may be, and what it
/// is for. The reader, the printer, the schema and the reference page are made from it.
struct Setting<Root> {
    fileprivate let key: String
    private let shape: () -> Shape
    private let isRequired: Bool
    private let about: String
    private let standard: String?
    fileprivate let read: (inout Section, inout Root) -> Void
    fileprivate let write: (Root, inout YAMLText) -> Void

    init<Value>(
        _ key: String, _ path: WritableKeyPath<Root, Value>, _ kind: Kind<Value>, _ about: String
    ) {
        self.init(key, kind.shape, about) { section, root in
            section.set(key, &root[keyPath: path], kind.read)
        } write: { root, yaml in
            kind.write(key, root[keyPath: path], &yaml)
        }
    }

    /// A setting that may be absent, and then is not printed.
    init<Value>(
        _ key: String, optional path: WritableKeyPath<Root, Value?>, _ kind: Kind<Value>,
        _ about: String
    ) {
        self.init(key, kind.shape, about) { section, root in
            section.set(key, &root[keyPath: path]) { kind.read($0).map { .some($0) } }
        } write: { root, yaml in
            if let value = root[keyPath: path] { kind.write(key, value, &yaml) }
        }
    }

    /// A section within, whose values are kept beside those of this one.
    init(_ key: String, group form: Form<Root>, _ about: String) {
        self.init(key, form.shape, about) { section, root in
            _ = section.field(key)?.section { form.read(&$0, into: &root) }
        } write: { root, yaml in
            yaml.mapping(key) { form.write(root, to: &$0) }
        }
    }

    /// A setting that is read by hand, because it depends on others, and printed if it is there.
    init(
        _ key: String, shown path: KeyPath<Root, String?>,
        _ shape: @escaping @autoclosure () -> Shape, required: Bool = false, _ about: String
    ) {
        self.init(key, shape(), required: required, about) { root, yaml in
            if let text = root[keyPath: path] { yaml.entry(key, text: text) }
        }
    }

    init(
        _ key: String, shown path: KeyPath<Root, String>,
        _ shape: @escaping @autoclosure () -> Shape, required: Bool = false, _ about: String
    ) {
        self.init(key, shape(), required: required, about) { root, yaml in
            yaml.entry(key, text: root[keyPath: path])
        }
    }

    /// The same with a printing of its own.
    init(
        _ key: String, _ shape: @escaping @autoclosure () -> Shape, required: Bool = false,
        standard: String? = nil, _ about: String, write: @escaping (Root, inout YAMLText) -> Void
    ) {
        self.init(
            key, shape(), required: required, standard: standard, about, read: { _, _ in },
            write: write)
    }

    init(
        _ key: String, _ shape: @escaping @autoclosure () -> Shape, required: Bool = false,
        standard: String? = nil, _ about: String,
        read: @escaping (inout Section, inout Root) -> Void,
        write: @escaping (Root, inout YAMLText) -> Void
    ) {
        self.key = key
        self.shape = shape
        isRequired = required
        self.standard = standard
        self.about = about
        self.read = read
        self.write = write
    }

    /// The default is what is printed of `start`.
    fileprivate func entry(_ start: Root) -> Entry {
        var yaml = YAMLText()
        write(start, &yaml)
        let lines = yaml.text.split(separator: "\n")
        let printed = lines.count == 1 ? String(lines[0].dropFirst(key.count + 2)) : "\"\""
        return Entry(
            key, shape(), required: isRequired,
            standard: standard ?? (printed == "\"\"" ? nil : printed), about)
    }
}

/// The settings of a section, in the order in which they are printed.
struct Form<Root> {
    /// The section where nothing is said.
    let start: Root
    fileprivate let settings: [Setting<Root>]

    init(_ start: Root, @FormBuilder<Root> _ settings: () -> [Setting<Root>]) {
        self.start = start
        self.settings = settings()
    }

    func read(_ section: inout Section, into root: inout Root) {
        for setting in settings { setting.read(&section, &root) }
    }

    func write(_ root: Root, to yaml: inout YAMLText) {
        for setting in settings { setting.write(root, &yaml) }
    }

    var keys: [String] { settings.map(\.key) }
    var entries: [Entry] { settings.map { $0.entry(start) } }
    var shape: Shape { .section(entries) }
}

/// Has the compiler look at one setting at a time.
@resultBuilder
enum FormBuilder<Root> {
    static func buildExpression(_ setting: Setting<Root>) -> [Setting<Root>] { [setting] }
    /// More settings of the same section.
    static func buildExpression(_ form: Form<Root>) -> [Setting<Root>] { form.settings }
    static func buildBlock(_ settings: [Setting<Root>]...) -> [Setting<Root>] {
        settings.flatMap(\.self)
    }
}
