public import Policy

/// `paths` of an upstream: how its servers read them. Nil if the operator has not set a value: each
/// normal form then counts as a path of its own, and `check` warns if another reading would matter.
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

    /// The spellings for which the operator has set a value.
    public var known: Set<PathSpelling> {
        var known: Set<PathSpelling> = []
        if ignoresCase != nil { known.insert(.letterCase) }
        if ignoresSuffixes != nil { known.insert(.suffix) }
        if decodesTwice != nil { known.insert(.secondDecoding) }
        return known
    }
}
