/// The type of a setting's value with its bounds: how it is read, printed and described.
struct Kind<Value> {
    private let makeShape: () -> Shape
    /// Reads a value. Nil, with a report, if the field holds no such value.
    let read: (Field) -> Value?
    /// The value as it is printed.
    let yaml: (Value) -> YAMLValue

    init(
        _ shape: @escaping @autoclosure () -> Shape, read: @escaping (Field) -> Value?,
        yaml: @escaping (Value) -> YAMLValue
    ) {
        makeShape = shape
        self.read = read
        self.yaml = yaml
    }

    /// A value that is printed as `text` without quotes.
    init(
        _ shape: @escaping @autoclosure () -> Shape, plain text: @escaping (Value) -> String,
        read: @escaping (Field) -> Value?
    ) {
        self.init(shape(), read: read) { .scalar(text($0)) }
    }

    /// A value that is made from a text, and printed as `text`.
    init(
        _ shape: @escaping @autoclosure () -> Shape, text: @escaping (Value) -> String,
        parse: @escaping (String) throws(Fault) -> Value
    ) {
        self.init(shape(), read: { $0.parse(parse) }) { .text(text($0)) }
    }

    /// The shape, made at each call. Only the schema and the pages ask for it.
    var shape: Shape { makeShape() }

    /// A section whose keys are declared; `check` reports values in it that do not fit together. A
    /// section without a required key is discarded, unless faulty ones are kept.
    static func section(
        _ form: Form<Value>, meant key: String? = nil, keepsFaulty: Bool = false,
        from start: Value? = nil,
        check: @escaping (inout Section, inout Value) -> Void = { _, _ in }
    ) -> Kind {
        Kind(form.shape) { field in
            let start = start ?? form.start
            let read = field.section(form.shape, meant: key) { section -> Value? in
                var value = start
                form.read(&section, into: &value)
                check(&section, &value)
                return section.isGood || keepsFaulty ? value : nil
            }
            if read == nil { field.context.noteFault(of: field.path) }
            return read ?? (keepsFaulty ? start : nil)
        } yaml: {
            form.yaml($0)
        }
    }

    /// A section with one key.
    static func section(_ key: String, _ kind: Kind, _ about: String) -> Kind {
        let shape = { Shape.section([Entry(key, kind.shape, required: true, about)]) }
        return Kind(shape()) { field in
            let read = field.section(shape()) { $0.value(key, true, kind.read)?.1 }
            return read ?? nil
        } yaml: { value in
            let printed = kind.yaml(value)
            return printed.isAbsent ? .absent : .mapping([YAMLPair(key, printed)])
        }
    }

    /// A kind of the same values that prints them only if `condition` holds.
    func printed(if condition: @escaping (Value) -> Bool) -> Kind {
        Kind(shape, read: read) { condition($0) ? yaml($0) : .absent }
    }

    /// This kind, described at another path of the page.
    func like(_ path: String) -> Kind { Kind(.like(path, shape), read: read, yaml: yaml) }

    /// A kind of the same values that are read in another way.
    func reading(_ read: @escaping (Field) -> Value?) -> Kind {
        Kind(shape, read: read, yaml: yaml)
    }

    /// A kind of the same values, whose faults `check` reports.
    func checked(_ check: @escaping (Field, Value) -> Void) -> Kind {
        reading { field in
            let value = read(field)
            if let value { check(field, value) }
            return value
        }
    }

    /// A kind of values made from these. If `into` returns nil, it has reported the fault; if
    /// `from` returns nil, the value is not printed.
    func map<Other>(
        _ into: @escaping (Value) -> Other?, from: @escaping (Other) -> Value? = { _ in nil }
    ) -> Kind<Other> {
        Kind<Other>(shape, read: { read($0).flatMap(into) }) { from($0).map(yaml) ?? .absent }
    }

    /// A value that may be missing, and then is not printed.
    var optional: Kind<Value?> { map({ .some(.some($0)) }, from: { $0 }) }

    /// This kind, or another one in a mapping. Values that this kind does not print are printed as
    /// the mapping. `hint`: a message for the mapping's key without a value.
    func or(
        _ mapping: Kind, if condition: @escaping (Field) -> Bool = \.isMapping,
        hint: (key: String, message: String)? = nil
    ) -> Kind {
        Kind(.either(shape.alternatives + mapping.shape.alternatives)) { field in
            if condition(field) { return mapping.read(field) }
            if let hint, field.isScalar(hint.key) {
                field.error("\(hint.key) \(hint.message)")
                return nil
            }
            return read(field)
        } yaml: { value in
            let printed = yaml(value)
            return printed.isAbsent ? mapping.yaml(value) : printed
        }
    }

    /// A list of values, none twice, and at least one if `emptyMessage` says why.
    static func list<Element: Hashable>(
        _ element: Kind<Element>, empty emptyMessage: String? = nil
    ) -> Kind where Value == [Element] {
        list(element, by: \.self, empty: emptyMessage)
    }

    /// A list of values with different `id`s; `message` reports a repeated one. A list with faulty
    /// values is discarded, unless they are skipped.
    static func list<Element, ID: Hashable>(
        _ element: Kind<Element>, by id: @escaping (Element) -> ID,
        empty emptyMessage: String? = nil, skipsFaulty: Bool = false, meant key: String? = nil,
        twice message: @escaping (Element) -> String = { _ in "listed twice" }
    ) -> Kind where Value == [Element] {
        list(all: element, empty: emptyMessage, skipsFaulty: skipsFaulty, meant: key) {
            var taken: Set<ID> = []
            return { taken.insert(id($0)).inserted ? nil : message($0) }
        }
    }

    /// A list of values. `start` makes a closure that finds faults of a value beside earlier ones.
    static func list<Element>(
        all element: Kind<Element>, empty emptyMessage: String? = nil, skipsFaulty: Bool = false,
        meant key: String? = nil,
        from start: @escaping () -> (Element) -> String? = { { _ in nil } }
    ) -> Kind where Value == [Element] {
        Kind(.list(element.shape)) { field in
            guard let fields = field.list(of: element.shape, meant: key) else { return nil }
            let fault = start()
            let values = fields.compactMap { field -> Element? in
                guard let value = element.read(field) else { return nil }
                guard let message = fault(value) else { return value }
                field.error(message)
                return nil
            }
            guard let emptyMessage, fields.isEmpty else {
                return skipsFaulty || values.count == fields.count ? values : nil
            }
            field.error(emptyMessage)
            return nil
        } yaml: {
            .list($0.map(element.yaml))
        }
    }

    /// A mapping whose keys the operator chooses: names of its values.
    static func named<Element>(
        _ word: String, _ element: Kind<Element>, _ name: WritableKeyPath<Element, String>,
        isFree: @escaping (String) -> Bool = { _ in true }
    ) -> Kind where Value == [Element] {
        Kind(.named(word, element.shape)) { field in
            field.namedFields(word, of: element.shape)?.compactMap { field in
                if !Name.isValid(field.key) || !isFree(field.key) {
                    field.context.error("\(quoted(field.key)) \(Name.rule)", at: field.keyMark)
                }
                guard var value = element.read(field) else { return nil }
                value[keyPath: name] = field.key
                return value
            }
        } yaml: { values in
            .mapping(values.map { YAMLPair($0[keyPath: name], element.yaml($0)) })
        }
    }
}

extension Kind where Value: Collection {
    /// A kind of the same values that does not print an empty one.
    var unlessEmpty: Kind { printed { !$0.isEmpty } }
}
