/// Reads `paths` of an upstream.
enum UpstreamPathReader {
    static func paths(_ field: Field) -> UpstreamPaths? {
        field.section { section in
            var paths = UpstreamPaths()
            let ignored = [("exact", false), ("ignore", true)]
            paths.ignoresCase = section.field("case")?.choice(ignored)
            paths.ignoresSuffixes = section.field("suffixes")?.choice(ignored)
            paths.decodesTwice = section.field("decode")?.choice([("once", false), ("twice", true)])
            return paths
        }
    }
}
