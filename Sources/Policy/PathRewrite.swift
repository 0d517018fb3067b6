/// The change to the path before it goes upstream. The query stays.
public enum PathRewrite: Hashable, Sendable {
    /// The text that replaces the path of a prefix pattern; it ends in `/`.
    case prefix(String)
    /// The text that replaces the path of an exact pattern.
    case path(String)
}

extension Route {
    /// The path that goes upstream for `path`, which is in normal form. Nil if `path` does not
    /// change, or if the route's pattern does not cover it.
    func rewrittenPath(_ path: [UInt8]) -> [UInt8]? {
        switch (self.path, rewrite) {
        case (.prefix(let pattern), .prefix(let replacement)?):
            let prefix = Array(pattern.utf8)
            if path == Array(prefix.dropLast()) { return Self.withoutSlash(replacement) }
            guard path.starts(with: prefix) else { return nil }
            return Array(replacement.utf8) + path.dropFirst(prefix.count)
        case (.exact(let pattern), .path(let replacement)?):
            let isCovered = Self.withoutSlash(pattern) == Self.withoutSlash(path)
            return isCovered ? Array(replacement.utf8) : nil
        default: return nil
        }
    }

    /// The path that goes upstream for `path`, which the pattern covers in this spelling or in
    /// another that the upstream takes for the same. In that other spelling, too, the part below a
    /// prefix is counted in slashes.
    func rewrittenPath(_ path: [UInt8], as equivalence: PathEquivalence) -> [UInt8] {
        guard rewrite != nil else { return path }
        if let literal = rewrittenPath(path) { return literal }
        guard equivalence != .exact else { return path }
        switch (self.path, rewrite) {
        case (.exact, .path(let replacement)?): return Array(replacement.utf8)
        case (.prefix(let pattern), .prefix(let replacement)?):
            var slashCount = pattern.utf8.count { $0 == 0x2F }
            for index in path.indices where path[index] == 0x2F {
                slashCount -= 1
                if slashCount == 0 { return Array(replacement.utf8) + path[(index + 1)...] }
            }
            return Self.withoutSlash(replacement)
        default: return path
        }
    }

    /// A path whose rewritten form is `path`, or another spelling that the upstream takes for the
    /// same; nil if there is none.
    func origin(ofRewritten path: [UInt8]) -> [UInt8]? {
        func read(_ path: String) -> [UInt8] {
            let bytes = Array(path.utf8)
            return (try? pathEquivalence.representative(of: bytes, keepsEnding: true)) ?? bytes
        }
        let path = read(String(decoding: path, as: UTF8.self))
        switch (self.path, rewrite) {
        case (.prefix(let pattern), .prefix(let replacement)?):
            let prefix = read(replacement)
            if prefix.count > 1, path == prefix.dropLast() { return Self.withoutSlash(pattern) }
            guard path.starts(with: prefix) else { return nil }
            return Array(pattern.utf8) + path.dropFirst(prefix.count)
        case (.exact(let pattern), .path(let replacement)?):
            return path == read(replacement) ? Array(pattern.utf8) : nil
        default: return nil
        }
    }

    private static func withoutSlash(_ path: String) -> [UInt8] { withoutSlash(Array(path.utf8)) }

    private static func withoutSlash(_ path: [UInt8]) -> [UInt8] {
        path.count > 1 && path.last == 0x2F ? Array(path.dropLast()) : path
    }
}
