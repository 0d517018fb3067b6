import Bytes
import Policy

/// Replaces the path that a route's pattern covers by another one. The part below a prefix, and the
/// query, stay as they came, byte for byte.
struct TargetRewrite: Sendable {
    /// The number of slashes in the prefix, including the last; nil for an exact pattern.
    private let slashCount: Int?
    private let replacement: [UInt8]

    init?(_ route: Route) {
        switch (route.path, route.rewrite) {
        case (.prefix, .prefix(let text)?):
            slashCount = Self.slashCount(route.path)
            replacement = Array(text.utf8)
        case (.exact, .path(let text)?):
            slashCount = nil
            replacement = Array(text.utf8)
        default: return nil
        }
    }

    /// Appends the target for the upstream.
    func append(_ target: Span<UInt8>, to output: inout ByteBuffer) {
        let pathCount = Self.pathByteCount(target)
        if let slashCount {
            if let start = Self.restStart(of: target.extracting(first: pathCount), slashCount) {
                output.append(replacement)
                output.append(target.extracting(start..<target.count))
                return
            }
            // `/x` for `/x/*`: the replacement without its slash, as the client sent it.
            let bytes = replacement.span
            output.append(bytes.count > 1 ? bytes.extracting(0..<bytes.count - 1) : bytes)
        } else {
            output.append(replacement)
        }
        output.append(target.extracting(pathCount..<target.count))
    }

    static func slashCount(_ pattern: PathPattern) -> Int? {
        guard case .prefix(let prefix) = pattern else { return nil }
        return prefix.utf8.count { $0 == 0x2F }
    }

    static func pathByteCount(_ target: Span<UInt8>) -> Int {
        for index in target.indices where target[index] == 0x3F { return index }
        return target.count
    }

    /// The start of what follows the prefix. It is counted in slashes: the prefix may be spelled in
    /// another way, but only with as many of them, because what could hide one is refused before.
    static func restStart(of path: Span<UInt8>, _ slashCount: Int) -> Int? {
        var left = slashCount
        for index in path.indices where path[index] == 0x2F {
            left -= 1
            if left == 0 { return index + 1 }
        }
        return nil
    }
}
