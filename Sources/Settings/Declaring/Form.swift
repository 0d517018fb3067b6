/// One setting of a section: its key, where its value is kept, what the value may be, and what it
/// is for. The reader, the printer, the schema and the reference page are made from it.
struct Setting<Root> {
    let key: String
    private let shape: (Root) -> Shape
    private let isRequired: Bool
    private let about: String
    private let standard: String?
    fileprivate let read: (inout Section, inout Root) -> Void
    private let yaml: (Root) -> YAMLValue

    /// A value that keeps its default if the key is missing, and is printed if `isPrinted`. `check`
    /// gets the value that was read.
    init<Value>(
        _ key: String, _ path: WritableKeyPath<Root, Value>, _ kind: Kind<Value>,
        required: Bool = false, standard: String? = nil,
        printed isPrinted: @escaping (Root) -> Bool = { _ in true }, _ about: String,
        check: @escaping (Field, inout Root) -> Void = { _, _ in }
    ) {
        self.init(
            key, path, of: { root in kind.printed { _ in isPrinted(root) } }, required: required,
            standard: standard, about, check: check)
    }

    /// A value whose kind depends on settings read before it.
    init<Value>(
        _ key: String, _ path: WritableKeyPath<Root, Value>,
        of kind: @escaping (Root) -> Kind<Value>,
        required: Bool = false, standard: String? = nil, _ about: String,
        check: @escaping (Field, inout Root) -> Void = { _, _ in }
    ) {
        self.init(
            key, shape: { kind($0).shape }, required: required, standard: standard, about,
            read: { section, root in
                guard let (field, value) = section.value(key, required, kind(root).read) else {
                    return
                }
                root[keyPath: path] = value
                check(field, &root)
            }, yaml: { kind($0).yaml($0[keyPath: path]) })
    }

    /// A value that may be missing, and then is not printed.
    init<Value>(
        _ key: String, optional path: WritableKeyPath<Root, Value?>, _ kind: Kind<Value>,
        _ about: String, check: @escaping (Field, inout Root) -> Void = { _, _ in }
    ) {
        self.init(key, path, of: { _ in kind.optional }, about, check: check)
    }

    /// A value that may be missing, and whose kind depends on settings read before it.
    init<Value>(
        _ key: String, optional path: WritableKeyPath<Root, Value?>,
        of kind: @escaping (Root) -> Kind<Value>, _ about: String,
        check: @escaping (Field, inout Root) -> Void = { _, _ in }
    ) {
        self.init(key, path, of: { kind($0).optional }, about, check: check)
    }

    /// A section within, whose values are kept beside those of this one, printed if `isPrinted`.
    init(
        _ key: String, group form: Form<Root>, meant meantKey: String? = nil,
        required: Bool = false, _ about: String,
        printed isPrinted: @escaping (Root) -> Bool = { _ in true },
        check: @escaping (inout Section, inout Root) -> Void = { _, _ in }
    ) {
        self.init(
            key, shape: { _ in form.shape }, required: required, about,
            read: { section, root in
                let kind = Kind.section(
                    form, meant: meantKey, keepsFaulty: true, from: root, check: check)
                if let (_, read) = section.value(key, required, kind.read) { root = read }
            }, yaml: { isPrinted($0) ? form.yaml($0) : .absent })
    }

    fileprivate init(
        _ key: String, shape: @escaping (Root) -> Shape, required: Bool,
        standard: String? = nil, _ about: String,
        read: @escaping (inout Section, inout Root) -> Void, yaml: @escaping (Root) -> YAMLValue
    ) {
        self.key = key
        self.shape = shape
        isRequired = required
        self.standard = standard
        self.about = about
        self.read = read
        self.yaml = yaml
    }

    /// This setting, described at another path of the page.
    func like(_ path: String) -> Setting {
        Setting(
            key, shape: { .like("\(path).\(key)", shape($0)) }, required: isRequired,
            standard: standard, about, read: read, yaml: yaml)
    }

    fileprivate func pair(_ root: Root) -> YAMLPair { YAMLPair(key, yaml(root)) }

    /// The entry of the setting. Its default is the value that is printed for `start`.
    fileprivate func entry(_ start: Root) -> Entry {
        let printed = yaml(start)
        let standard = standard ?? printed.line ?? ""
        return Entry(
            key, shape(start), required: isRequired,
            standard: ["", "\"\""].contains(standard) ? nil : standard,
            printed: !printed.isAbsent, about)
    }
}

/// The settings of a section, in the order in which they are printed.
struct Form<Root> {
    /// The section with its defaults, as if no key were given.
    let start: Root
    fileprivate let settings: [Setting<Root>]
    /// Keys that other settings depend on. They are read first, wherever they are printed.
    private let first: [String]

    init(_ start: Root, first: [String] = [], @FormBuilder<Root> _ settings: () -> [Setting<Root>])
    {
        self.start = start
        self.first = first
        self.settings = settings()
    }

    func read(_ section: inout Section, into root: inout Root) {
        section.expect(keys)
        for setting in settings where first.contains(setting.key) { setting.read(&section, &root) }
        for setting in settings where !first.contains(setting.key) { setting.read(&section, &root) }
    }

    func yaml(_ root: Root) -> YAMLValue { .mapping(settings.map { $0.pair(root) }) }

    var keys: [String] { settings.map(\.key) }
    var entries: [Entry] { settings.map { $0.entry(start) } }
    var shape: Shape { .section(entries) }
}

/// Builds the list of settings, so that the compiler checks one setting at a time.
@resultBuilder
enum FormBuilder<Root> {
    static func buildExpression(_ setting: Setting<Root>) -> [Setting<Root>] { [setting] }
    /// More settings of the same section.
    static func buildExpression(_ settings: [Setting<Root>]) -> [Setting<Root>] { settings }
    static func buildBlock(_ settings: [Setting<Root>]...) -> [Setting<Root>] {
        settings.flatMap(\.self)
    }
}
