/// Finds the hosts of the configuration that cover a request's host.
///
/// Every pattern stands for a class of hosts: those that it covers and no more specific pattern
/// does. Class 0 is every other host.
struct HostIndex: Sendable {
    /// The patterns, in the order of their classes, which count from 1.
    let patterns: [HostPattern]
    /// The names backwards, so that a domain is the prefix of the names below it.
    private let exact: PathIndex
    private let exactClasses: [Int]
    private let below: PathIndex
    private let belowClasses: [Int]

    /// - Parameter patterns: different from each other.
    init(_ patterns: [HostPattern]) {
        self.patterns = patterns
        var exact: [(name: [UInt8], hostClass: Int)] = []
        var below: [(name: [UInt8], hostClass: Int)] = []
        for (index, pattern) in patterns.enumerated() {
            switch pattern {
            case .exact(let name): exact.append((Array(name.utf8.reversed()), index + 1))
            case .below(let domain):
                // With the period before it, because a domain pattern does not cover the domain
                // itself.
                below.append((Array(".\(domain)".utf8.reversed()), index + 1))
            }
        }
        self.exact = PathIndex(exact.map(\.name))
        exactClasses = exact.map(\.hostClass)
        self.below = PathIndex(below.map(\.name))
        belowClasses = below.map(\.hostClass)
    }

    /// The class of the host in `authority`, the value of Host; an empty one is in class 0.
    func hostClass(of authority: Span<UInt8>) -> Int {
        var storage = HostName.Storage(repeating: 0)
        guard let count = HostName.normalize(authority, into: &storage) else { return 0 }
        for index in 0..<count / 2 { storage.swapAt(index, count - 1 - index) }
        return hostClass(backwards: storage.span, count: count)
    }

    private func hostClass(backwards name: Span<UInt8>, count: Int) -> Int {
        var hash = PathIndex.hashStart
        var longest = 0
        for index in 0..<count {
            hash = PathIndex.hash(hash, name[index])
            // An address in brackets has no periods before its end, and nothing is below an IPv4
            // address.
            guard name[index] == UInt8(ascii: "."), index + 1 < count,
                let found = below.value(hash: hash, path: name, byteCount: index + 1)
            else { continue }
            longest = belowClasses[found]
        }
        let found = exact.value(hash: hash, path: name, byteCount: count)
        return found.map { exactClasses[$0] } ?? longest
    }

    /// The patterns that cover a class's hosts, from the least to the most specific. The class's
    /// own comes last.
    func covering(_ hostClass: Int) -> [HostPattern] {
        guard hostClass > 0 else { return [] }
        let own = patterns[hostClass - 1]
        let name =
            switch own {
            case .exact(let name): name
            case .below(let domain): "*.\(domain)"
            }
        var wider: [(byteCount: Int, pattern: HostPattern)] = []
        for pattern in patterns where pattern != own {
            guard case .below(let domain) = pattern, name.hasSuffix(".\(domain)") else { continue }
            wider.append((domain.utf8.count, pattern))
        }
        wider.sort { $0.byteCount < $1.byteCount }
        return wider.map(\.pattern) + [own]
    }
}
