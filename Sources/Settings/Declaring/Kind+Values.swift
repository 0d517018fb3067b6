extension Kind where Value == Int {
    /// A plain number.
    static func count(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind(.number(range, reason), plain: { "\($0)" }) { $0.count(range, reason) }
    }

    static func byteCount(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        quantity(.size, range, reason)
    }

    static func byteRate(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        quantity(.byteRate, range, reason)
    }

    static func share(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        quantity(.share, range, reason)
    }

    private static func quantity(
        _ form: Quantity.Form, _ range: ClosedRange<Int>, _ reason: String
    ) -> Kind {
        Kind(
            .quantity(form, range, reason), plain: { Quantity.describe($0, form.units) }
        ) { $0.amount(range, form, reason) }
    }

    static var percent: Kind { share(0...100, "a share of all") }
}

extension Kind where Value == Int? {
    /// A plain number, or `off` for nil.
    static func countOrOff(_ range: ClosedRange<Int>, _ reason: String) -> Kind {
        Kind<Int>.count(range, reason).optional.orOff(nil)
    }
}

extension Kind where Value == Duration {
    static func duration(_ low: Duration, _ high: Duration, _ reason: String) -> Kind {
        let range = Quantity.milliseconds(low)...Quantity.milliseconds(high)
        return Kind(.quantity(.duration, range, reason), plain: { Quantity.describe($0) }) {
            $0.amount(range, .duration, reason).map { .milliseconds($0) }
        }
    }

    /// A duration, or `off` for zero.
    static func durationOrOff(_ low: Duration, _ high: Duration, _ reason: String) -> Kind {
        duration(low, high, reason).orOff(.zero)
    }
}

extension Kind where Value == String {
    /// A text that `read` takes.
    static func text(
        _ shape: @escaping @autoclosure () -> Shape, _ read: @escaping (Field) -> String?
    ) -> Kind {
        Kind(shape(), read: read) { .text($0) }
    }

    /// A text for which `isValid` holds; `rule` follows a wrong text in the message.
    static func text(
        _ shape: @escaping @autoclosure () -> Shape, _ rule: String,
        _ isValid: @escaping (String) -> Bool
    ) -> Kind {
        Kind(shape(), text: \.self) { text throws(Fault) in
            if !isValid(text) { throw Fault(rule) }
            return text
        }
    }

    static var path: Kind { text(.path) { $0.filePath() } }

    /// A path for which `isValid` holds.
    static func path(
        _ shape: @escaping @autoclosure () -> Shape, _ rule: String,
        _ isValid: @escaping (String) -> Bool
    ) -> Kind {
        text(shape()) { field in
            guard let path = field.pathAsGiven() else { return nil }
            if isValid(path) { return field.context.files.path(of: path) }
            field.error("\(quoted(path)) \(rule)")
            return nil
        }
    }

    static var name: Kind { text(Name.shape, Name.rule, Name.isValid) }
}

extension Kind {
    /// The result of `parse` for the file at a path. Its fault follows the path in a message.
    static func file(
        path: @escaping (Value) -> String,
        parse: @escaping (_ path: String, _ bytes: [UInt8]) throws(Fault) -> Value
    ) -> Kind {
        Kind(.path, read: { $0.file(parse) }) { .text(path($0)) }
    }
}

extension Kind where Value == Bool {
    static var onOff: Kind { words([("on", true), ("off", false)]) }
    static var trueFalse: Kind { words([("true", true), ("false", false)]) }
}

extension Kind where Value: Equatable {
    /// This kind, or `off` for a value of its own.
    func orOff(_ off: Value) -> Kind { .words([("off", off)], or: self) }

    /// One of a closed set of words.
    static func words(_ words: [(name: String, value: Value)]) -> Kind {
        Kind(
            .words(words.map(\.name)),
            read: { $0.choice(words) }
        ) { value in words.first { $0.value == value }.map { .scalar($0.name) } ?? .absent }
    }

    /// One of a closed set of words, or else a value of another kind.
    static func words(_ words: [(name: String, value: Value)], or other: Kind) -> Kind {
        let word = Kind.words(words)
        return Kind(.either([word.shape] + other.shape.alternatives)) { field in
            words.first { field.isScalar($0.name) }?.value ?? other.read(field)
        } yaml: { value in
            let printed = word.yaml(value)
            return printed.isAbsent ? other.yaml(value) : printed
        }
    }
}

extension Kind where Value: OptionSet & Hashable, Value.Element == Value {
    /// Some of a closed set of words, and at least one if `emptyMessage` says why.
    static func options(
        _ options: [(name: String, value: Value)], empty emptyMessage: String? = nil
    ) -> Kind {
        Kind<[Value]>.list(.words(options), empty: emptyMessage).map(
            { Value($0) }, from: { set in options.map(\.value).filter(set.contains) })
    }
}

extension Kind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a closed set of words, which the type names.
    static var word: Kind { word(meanings: [:]) }

    /// One of a closed set of words, which the type names. `meanings`: the values for other words
    /// that operators often write.
    static func word(meanings: [String: Value]) -> Kind {
        Kind(.words(Value.allCases.map(\.rawValue)), plain: \.rawValue) {
            $0.choice(Value.self, meanings: meanings)
        }
    }
}

extension Int {
    static let kibibyte = 1024
    static let mebibyte = 1024 * 1024
    static let gibibyte = 1024 * 1024 * 1024
}
