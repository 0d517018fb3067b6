import JSON
import YAML

/// Validates YAML against the part of JSON Schema that the configuration's schema is written in.
struct SchemaValidator {
    private let root: JSONValue

    init(_ root: JSONValue) { self.root = root }

    /// Why `node` is not valid, each fault with its path.
    func faults(_ node: YAMLNode) -> [String] { faults(node, root, "") }

    /// The schema of a mapping with fixed keys that `node` is meant for.
    func section(_ node: YAMLNode, _ schema: JSONValue) -> JSONValue? {
        let schema = resolved(schema)
        if schema["properties"] != nil { return faults(node, schema, "").isEmpty ? schema : nil }
        return schema["anyOf"].flatMap { alternatives in
            elements(alternatives).lazy.compactMap { section(node, $0) }.first
        }
    }

    /// The schema of what stands below `key` of a mapping, or in a list.
    func below(_ node: YAMLNode, _ key: String?, _ schema: JSONValue) -> JSONValue? {
        let schema = resolved(schema)
        if let key {
            if let found = schema["properties"]?[key] { return found }
            if case .object? = schema["additionalProperties"] {
                return schema["additionalProperties"]
            }
        } else if let items = schema["items"] {
            return items
        }
        return schema["anyOf"].flatMap { alternatives in
            elements(alternatives).lazy.filter { faults(node, $0, "").isEmpty }
                .compactMap { below(node, key, $0) }.first
        }
    }

    private func faults(_ node: YAMLNode, _ schema: JSONValue, _ path: String) -> [String] {
        let schema = resolved(schema)
        var found: [String] = []
        if let alternatives = schema["anyOf"] {
            let tried = elements(alternatives).map { faults(node, $0, path) }
            if !tried.contains(where: \.isEmpty) { found.append("\(path): none of \(tried)") }
        }
        if let values = schema["enum"], !elements(values).contains(scalar(node)) {
            found.append("\(path): not listed")
        }
        if let type = schema["type"] {
            let types = elements(type).isEmpty ? [type] : elements(type)
            if !types.contains(.string(typeName(node))), !isNumber(node, types) {
                return found + ["\(path): no \(type)"]
            }
        }
        switch node.kind {
        case .scalar(let text, _): found += scalarFaults(text, scalar(node), schema, path)
        case .sequence(let elements):
            for (index, element) in elements.enumerated() {
                guard let items = schema["items"] else { break }
                found += faults(element, items, "\(path)[\(index)]")
            }
        case .mapping(let entries): found += mappingFaults(entries, schema, path)
        }
        return found
    }

    private func scalarFaults(
        _ text: String, _ value: JSONValue, _ schema: JSONValue, _ path: String
    ) -> [String] {
        var found: [String] = []
        if case .string = value, let pattern = schema["pattern"]?.stringValue,
            let expression = try? Regex(pattern), !text.contains(expression)
        {
            found.append("\(path): \(text) does not match \(pattern)")
        }
        if let number = value.integerValue {
            let isBelow = schema["minimum"]?.integerValue.map { number < $0 } ?? false
            let isAbove = schema["maximum"]?.integerValue.map { number > $0 } ?? false
            if isBelow || isAbove { found.append("\(path): \(number) is out of bounds") }
        }
        return found
    }

    private func mappingFaults(
        _ entries: [YAMLEntry], _ schema: JSONValue, _ path: String
    ) -> [String] {
        var found: [String] = []
        for entry in entries {
            let path = "\(path).\(entry.key)"
            if let property = schema["properties"]?[entry.key] {
                found += faults(entry.value, property, path)
            } else if schema["additionalProperties"] == .bool(false) {
                found.append("\(path): unknown")
            } else if let more = schema["additionalProperties"] {
                found += faults(entry.value, more, path)
            }
        }
        for key in schema["required"].map(elements) ?? []
        where !entries.contains(where: { .string($0.key) == key }) {
            found.append("\(path): lacks \(key)")
        }
        return found
    }

    private func resolved(_ schema: JSONValue) -> JSONValue {
        guard let reference = schema["$ref"]?.stringValue else { return schema }
        return root["$defs"]?[String(reference.dropFirst("#/$defs/".count))] ?? .null
    }

    private func elements(_ value: JSONValue) -> [JSONValue] {
        if case .array(let elements) = value { elements } else { [] }
    }

    /// A whole number is a number, too.
    private func isNumber(_ node: YAMLNode, _ types: [JSONValue]) -> Bool {
        typeName(node) == "integer" && types.contains(.string("number"))
    }

    private func typeName(_ node: YAMLNode) -> String {
        switch node.kind {
        case .sequence: "array"
        case .mapping: "object"
        case .scalar:
            switch scalar(node) {
            case .integer: "integer"
            case .number: "number"
            case .bool: "boolean"
            case .null: "null"
            default: "string"
            }
        }
    }

    /// As the core schema of YAML 1.2 types plain scalars.
    private func scalar(_ node: YAMLNode) -> JSONValue {
        guard case .scalar(let text, let isPlain) = node.kind else { return .null }
        guard isPlain else { return .string(text) }
        if ["", "~", "null"].contains(text) { return .null }
        if text == "true" || text == "false" { return .bool(text == "true") }
        if text.contains(/^[-+]?[0-9]+$/), let number = Int64(text) { return .integer(number) }
        if text.contains(/^[-+]?[0-9]+\.[0-9]*$/), let number = Double(text) {
            return .number(number)
        }
        return .string(text)
    }
}
