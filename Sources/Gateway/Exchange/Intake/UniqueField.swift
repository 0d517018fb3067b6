import Bytes
import HTTP

extension RequestIntake {
    /// The value of a header that must not be repeated.
    enum UniqueField {
        case absent
        case value(Range32)
        case repeated

        var isAbsent: Bool { if case .absent = self { true } else { false } }
    }

    /// Finds the only field whose name is in `names`; with a `spelling` in lower case, the only one
    /// of exactly this name.
    func uniqueField(_ names: FieldNameSet, spelled spelling: [UInt8]? = nil) -> UniqueField {
        var found = UniqueField.absent
        let bytes = headBytes.span
        // By index: a loop over the fields counts another reference to them.
        for index in state.head.fields.indices {
            let field = state.head.fields[index]
            guard field.known == .other, names.contains(bytes.extracting(field.name)) else {
                continue
            }
            if let spelling,
                !ASCII.equalsIgnoringCase(bytes.extracting(field.name), lowercase: spelling)
            {
                continue
            }
            guard found.isAbsent else { return .repeated }
            found = .value(field.value)
        }
        return found
    }
}
