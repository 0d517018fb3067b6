public import Policy

/// `paths` of an upstream: how it reads them. Nil is what the operator does not say: as a server
/// would that takes each normal form for a path of its own, and with a warning where it matters.
public struct UpstreamPaths: Hashable, Sendable {
    public var ignoresCase: Bool?
    public var ignoresSuffixes: Bool?
    public var decodesTwice: Bool?

    public var equivalence: PathEquivalence {
        var equivalence = PathEquivalence()
        equivalence.ignoresCase = ignoresCase ?? false
        equivalence.ignoresSuffixes = ignoresSuffixes ?? false
        equivalence.decodesTwice = decodesTwice ?? false
        return equivalence
    }

    /// The spellings about which the operator says something.
    public var known: Set<PathSpelling> {
        var known: Set<PathSpelling> = []
        if ignoresCase != nil { known.insert(.letterCase) }
        if ignoresSuffixes != nil { known.insert(.suffix) }
        if decodesTwice != nil { known.insert(.secondDecoding) }
        return known
    }
}
