/// The place in which a device keeps a key, as its platform vouches for it.
public enum SecurityLevel: String, Sendable, CaseIterable {
    /// The trusted execution environment of the main processor.
    case tee
    /// A processor of its own (StrongBox).
    case strongbox
}
