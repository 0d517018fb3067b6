/// The values that a setting may have, for the schema and the reference page.
indirect enum Shape: Sendable {
    /// A whole number and the reason for its bounds.
    case number(ClosedRange<Int>, String)
    /// A number with its unit, its bounds in the smallest unit, and the reason for them.
    case quantity(Quantity.Form, ClosedRange<Int>, String)
    case words([String])
    /// A text, described for people, and the regular expression that every such text matches.
    case text(String, pattern: String? = nil)
    case list(Shape)
    case section([Entry])
    /// A mapping whose keys the operator chooses; the word stands for the key in the page.
    case named(String, Shape)
    case either([Shape])
    /// The values of the key at that path of the page: a section that is described once.
    case like(String, Shape)

    // Computed: the leak checker cannot follow the tagged pointer that a global would hold.
    static var path: Shape { .text("path") }
    static var header: Shape { .text("header name") }
    static var server: Shape { .text("host:port, [v6]:port or unix:/path") }

    /// The alternatives of this shape; itself if it has none.
    var alternatives: [Shape] { if case .either(let shapes) = self { shapes } else { [self] } }

    /// The keys of a mapping, a list of mappings or a mapping of mappings, and how a path of the
    /// page continues to them.
    var sections: [(infix: String, entries: [Entry])] {
        switch self {
        case .section(let entries): [(".", entries)]
        case .list(let element): element.sections.map { ("[]\($0.infix)", $0.entries) }
        case .named(let name, let value): value.sections.map { (".\(name)\($0.infix)", $0.entries) }
        case .either(let shapes): shapes.flatMap(\.sections)
        case .number, .quantity, .words, .text, .like: []
        }
    }
}

/// One key of a section, with its texts for the schema and the reference page.
struct Entry: Sendable {
    let key: String
    let shape: Shape
    let isRequired: Bool
    /// The default as a configuration would write it; nil if the key has none.
    let standard: String?
    /// True if the key is printed even if the configuration leaves it out.
    let isPrinted: Bool
    /// Some sentences for operators.
    let about: String

    init(
        _ key: String, _ shape: Shape, required: Bool = false, standard: String? = nil,
        printed: Bool = false, _ about: String
    ) {
        self.key = key
        self.shape = shape
        isRequired = required
        self.standard = standard
        isPrinted = printed
        self.about = about
    }
}
