/// How the value of a setting is read, printed and described: its type with its bounds.
struct Kind<Value> {
    private let makeShape: () -> Shape
    /// Nil, with a report, for what is no such value.
    let read: (Field) -> Value?
    /// Writes the key and the value.
    let write: (String, Value, inout YAMLText) -> Void

    init(
        _ shape: @escaping @autoclosure () -> Shape, read: @escaping (Field) -> Value?,
        write: @escaping (String, Value, inout YAMLText) -> Void
    ) {
        makeShape = shape
        self.read = read
        self.write = write
    }

    /// A value that is printed as `text` without quotes.
    init(
        _ shape: @escaping @autoclosure () -> Shape, plain text: @escaping (Value) -> String,
        read: @escaping (Field) -> Value?
    ) {
        self.init(shape(), read: read) { $2.entry($0, text($1)) }
    }

    /// Made when somebody asks: readers do not.
    var shape: Shape { makeShape() }

    /// A section whose keys are declared; `check` reports what does not fit together in it.
    static func section(
        _ form: Form<Value>, check: @escaping (Field, Value) -> Void = { _, _ in }
    ) -> Kind {
        Kind(form.shape) { field in
            field.section { section in
                var value = form.start
                form.read(&section, into: &value)
                check(field, value)
                return value
            }
        } write: { key, value, yaml in
            yaml.mapping(key) { form.write(value, to: &$0) }
        }
    }

    /// The same values, printed only if `condition` holds.
    func printed(if condition: @escaping (Value) -> Bool) -> Kind {
        Kind(shape, read: read) { key, value, yaml in
            if condition(value) { write(key, value, &yaml) }
        }
    }

    /// The same values, read in another way.
    func reading(_ read: @escaping (Field) -> Value?) -> Kind {
        Kind(shape, read: read, write: write)
    }
}

extension Kind where Value == Int {
    /// A plain number.
    static func count(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(.number(range, reason), plain: { "\($0)" }) { $0.count(range, reason) }
    }

    static func byteCount(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(.quantity(.size, range, reason), plain: { Quantity.describe(byteCount: $0) }) {
            $0.byteCount(range, reason)
        }
    }

    static func byteRate(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(
            .quantity(.byteRate, range, reason),
            plain: { Quantity.describe($0, Quantity.byteRateUnits) }
        ) { $0.byteRate(range, reason) }
    }

    static func share(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(.quantity(.share, range, reason), plain: { "\($0)%" }) { $0.share(range, reason) }
    }

    static var percent: Kind { share(0...100, "a share of all") }
}

extension Kind where Value == Int? {
    /// A plain number, or `off` for nil.
    static func countOrOff(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(
            .either([.words(["off"]), .number(range, reason)]),
            plain: { $0.map { "\($0)" } ?? "off" }
        ) { $0.countOrOff(range, reason) }
    }
}

extension Kind where Value == Duration {
    static func duration(_ low: Duration, _ high: Duration, _ reason: String) -> Kind {
        let range = Quantity.milliseconds(low)...Quantity.milliseconds(high)
        return Kind(.quantity(.duration, range, reason), plain: { Quantity.describe($0) }) {
            $0.duration(low, high, reason)
        }
    }

    /// A duration, or `off` for zero.
    static func durationOrOff(_ low: Duration, _ high: Duration, _ reason: String) -> Kind {
        let bounded = duration(low, high, reason)
        return Kind(
            .either([.words(["off"]), bounded.shape]),
            plain: { $0 == .zero ? "off" : Quantity.describe($0) }
        ) { field in
            if let text = field.text(), text.value == "off" { return .zero }
            return bounded.read(field)
        }
    }
}

extension Kind where Value == String {
    /// A text that `read` takes.
    static func text(
        _ shape: @escaping @autoclosure () -> Shape, _ read: @escaping (Field) -> String?
    ) -> Kind {
        Kind(shape(), read: read) { $2.entry($0, text: $1) }
    }

    static var path: Kind { text(.path) { $0.filePath() } }
    static var name: Kind { text(Name.shape) { $0.name() } }
}

extension Kind where Value == [String] {
    /// A list of texts, none twice.
    static func texts(_ element: Kind<String>) -> Kind {
        Kind(.list(element.shape), read: { $0.list(element.read) }) { $2.entry($0, list: $1) }
    }
}

extension Kind where Value == Bool {
    static var onOff: Kind { words([("on", true), ("off", false)]) }
    static var trueFalse: Kind { words([("true", true), ("false", false)]) }
}

extension Kind where Value: Equatable {
    /// One of a closed set of words.
    static func words(_ words: [(name: String, value: Value)]) -> Kind {
        Kind(
            .words(words.map(\.name)),
            plain: { value in words.first { $0.value == value }?.name ?? "" }
        ) { $0.choice(words) }
    }
}

extension Kind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a closed set of words, which the type names.
    static var word: Kind {
        Kind(.words(Value.allCases.map(\.rawValue)), plain: \.rawValue) { $0.choice(Value.self) }
    }
}

extension Int {
    static let kibibyte = 1024
    static let mebibyte = 1024 * 1024
    static let gibibyte = 1024 * 1024 * 1024
}
