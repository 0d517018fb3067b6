/// The declarations as a JSON Schema (draft 2020-12), for editors that complete and check YAML.
///
/// Every configuration that the gateway accepts is valid. Some valid ones are not accepted: only
/// `sallyport check` knows the bounds of numbers with units and the rules between settings.
public enum SettingsSchema {
    public static var text: String {
        var schema = object(SettingsReader(processorCount: 1).form.entries)
        schema.insert(("$schema", .text("https://json-schema.org/draft/2020-12/schema")), at: 0)
        schema.insert(("title", .text("Configuration of Sallyport")), at: 1)
        let digits = [("type", SchemaValue.text("string")), ("pattern", .text("^[0-9]+$|[$][{]"))]
        let substituted = [("type", SchemaValue.text("string")), ("pattern", .text("[$][{]"))]
        schema.append(
            (
                "$defs",
                .object([("digits", .object(digits)), ("substituted", .object(substituted))])
            ))
        return SchemaValue.object(schema).json() + "\n"
    }

    private static func object(_ entries: [Entry]) -> [(String, SchemaValue)] {
        let required = entries.filter(\.isRequired).map { SchemaValue.text($0.key) }
        return [
            ("type", .text("object")), ("additionalProperties", .literal("false")),
            ("properties", .object(entries.map { ($0.key, .object(property($0))) })),
        ] + (required.isEmpty ? [] : [("required", .list(required))])
    }

    private static func property(_ entry: Entry) -> [(String, SchemaValue)] {
        let hasKeys = !entry.shape.sections.isEmpty
        let summary = hasKeys ? "" : entry.shape.summary.map { " (\($0))" } ?? ""
        var members = [("description", SchemaValue.text(entry.about + summary))]
        if !entry.isRequired, let standard = entry.standard, !standard.hasPrefix("[") {
            members.append(("default", literal(standard)))
        }
        return members + schema(entry.shape)
    }

    private static func schema(_ shape: Shape) -> [(String, SchemaValue)] {
        switch shape {
        case .number(let range, _):
            let bounds: [(String, SchemaValue)] = [
                ("type", .text("integer")), ("minimum", .literal("\(range.lowerBound)")),
                ("maximum", .literal("\(range.upperBound)")),
            ]
            return [("anyOf", .list([.object(bounds), reference("digits")]))]
        case .quantity(let form, _, _):
            let units = form.units.map(\.name).joined(separator: "|")
            return pattern("^[0-9]+(\(units))$", ["string"])
        case .words(let words):
            let values = words.flatMap { word in
                literal(word).isText ? [.text(word)] : [SchemaValue.text(word), literal(word)]
            }
            let listed = SchemaValue.object([("enum", .list(values))])
            return [("anyOf", .list([listed, reference("substituted")]))]
        case .text(_, let expression): return pattern(expression, ["string", "number", "boolean"])
        case .list(let element):
            return [("type", .text("array")), ("items", .object(schema(element)))]
        case .section(let entries): return object(entries)
        case .named(_, let value):
            return [("type", .text("object")), ("additionalProperties", .object(schema(value)))]
        case .like(_, let shape): return schema(shape)
        case .either(let shapes):
            return [("anyOf", .list(shapes.map { .object(schema($0)) }))]
        }
    }

    private static func pattern(
        _ expression: String?, _ types: [String]
    ) -> [(String, SchemaValue)] {
        let type = types.count == 1 ? SchemaValue.text(types[0]) : .list(types.map { .text($0) })
        guard let expression else { return [("type", type)] }
        return [("type", type), ("pattern", .text("\(expression)|[$][{]"))]
    }

    private static func reference(_ name: String) -> SchemaValue {
        .object([("$ref", .text("#/$defs/\(name)"))])
    }

    /// A plain or quoted scalar of YAML as editors read it.
    private static func literal(_ scalar: String) -> SchemaValue {
        let isLiteral =
            ["true", "false"].contains(scalar) || Int(scalar) != nil || Double(scalar) != nil
        if scalar.hasPrefix("\"") { return .literal(scalar) }
        return isLiteral ? .literal(scalar) : .text(scalar)
    }
}

/// A JSON value that is written with line breaks, its members in order.
private indirect enum SchemaValue {
    case text(String)
    /// A text that is JSON.
    case literal(String)
    case list([SchemaValue])
    case object([(String, SchemaValue)])

    var isText: Bool { if case .text = self { true } else { false } }

    func json(_ indent: String = "") -> String {
        switch self {
        case .text(let text): return Self.quoted(text)
        case .literal(let json): return json
        case .list(let values):
            let isShort = values.allSatisfy { if case .object = $0 { false } else { true } }
            if isShort { return "[\(values.map { $0.json() }.joined(separator: ", "))]" }
            return Self.lines("[", values.map { $0.json(indent + "  ") }, "]", indent)
        case .object(let members):
            let lines = members.map { "\(Self.quoted($0.0)): \($0.1.json(indent + "  "))" }
            return Self.lines("{", lines, "}", indent)
        }
    }

    private static func lines(
        _ open: String, _ values: [String], _ close: String, _ indent: String
    ) -> String {
        let body = values.map { "\n\(indent)  \($0)" }.joined(separator: ",")
        return body.isEmpty ? open + close : "\(open)\(body)\n\(indent)\(close)"
    }

    /// Quotes a text. Texts of declarations have no control characters.
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
