import HTTP

extension RequestIntake {
    /// The value of a header that must not be repeated.
    enum UniqueField {
        case absent
        case value(Range32)
        case repeated

        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    /// Finds the only field whose name is in `names`.
    func uniqueField(_ names: FieldNameSet) -> UniqueField {
        var found = UniqueField.absent
        let bytes = headBytes.span
        for field in state.head.fields where field.known == .other {
            let name = bytes.extracting(field.name)
            guard names.contains(name) else { continue }
            guard found.isAbsent else { return .repeated }
            found = .value(field.value)
        }
        return found
    }
}
