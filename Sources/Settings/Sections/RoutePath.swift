import HTTP
import Policy

/// Reads paths as the configuration writes them.
enum RoutePath {
    static var shape: Shape { .text("path, or path/*", pattern: "^/") }

    /// As the configuration writes it: a * of the path itself must not be taken for the pattern's.
    static func text(_ pattern: PathPattern) -> String {
        switch pattern {
        case .exact(let path): path.replacing("*", with: "%2A")
        case .prefix(let path): path.replacing("*", with: "%2A") + "*"
        }
    }

    static func pattern(_ field: Field) -> PathPattern? {
        guard let text = field.text() else { return nil }
        let isPrefix = text.value.hasSuffix("/*")
        let path = isPrefix ? String(text.value.dropLast()) : text.value
        guard !path.contains("*") else {
            field.error(
                "\(text.shown) has a * elsewhere than in a final /*; write a literal one as %2A")
            return nil
        }
        guard let normal = normalForm(of: path, shown: text.shown, field) else { return nil }
        return isPrefix ? .prefix(normal) : .exact(normal)
    }

    /// The form in which requests are compared; nil, with a report, where there is none.
    static func normalForm(of path: String, shown: String, _ field: Field) -> String? {
        guard path.hasPrefix("/") else {
            field.error("\(shown) does not begin with a /")
            return nil
        }
        guard path.utf8.count <= 1024 else {
            field.error("\(shown) is longer than 1024 bytes")
            return nil
        }
        do throws(HTTPFault) {
            return String(
                decoding: try TargetPath.normalize(pattern: Array(path.utf8)), as: UTF8.self)
        } catch {
            field.error("\(shown) is not a path that a request can have: \(error.code)")
            return nil
        }
    }
}
