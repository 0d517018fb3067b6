import AppAttestTesting
import Bytes
import JSON

/// `sallyport-lab vectors`: makes signed requests for tests of clients and verifiers, with the
/// expected verdict for each.
enum VectorsCommand {
    private static let usage = """
        usage: sallyport-lab vectors [--platform apple|android] [--out FILE]

        Prints docs/client/vectors.json or android-vectors.json anew: the key is the same each time,
        signatures are not.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(words, names: ["--out", "--platform"], usage: usage)
        let text: String
        switch options.choice("--platform", or: LabPlatform.apple) {
        case .apple: text = Self.text(of: try AssertionVectors.make())
        case .android: text = Self.text(of: try PhoneVectors.make())
        }
        if let path = options.value("--out") {
            try LabFile.write(path, Array(text.utf8))
        } else {
            print(text, terminator: "")
        }
    }

    /// The text with one line for each member, so that differences can be read.
    private static func text(of value: JSONValue, _ indent: String = "") -> String {
        let inner = indent + "  "
        let lines: [String]
        switch value {
        case .object(let members):
            lines = members.sorted { $0.key < $1.key }.map { name, value in
                "\(inner)\(scalar(.string(name))): \(text(of: value, inner))"
            }
        case .array(let elements): lines = elements.map { inner + text(of: $0, inner) }
        default: return scalar(value)
        }
        let isObject = value.objectValue != nil
        let body = lines.joined(separator: ",\n")
        let end = indent.isEmpty ? "\n" : ""
        return "\(isObject ? "{" : "[")\n\(body)\n\(indent)\(isObject ? "}" : "]")\(end)"
    }

    private static func scalar(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.element(value)
        let buffer = writer.finish()
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }
}
