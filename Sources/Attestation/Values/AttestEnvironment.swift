/// The kind of build that made a key, as its platform tells it. A development build is one that the
/// team's own members can change.
public enum AttestEnvironment: String, Sendable, CaseIterable {
    case production
    case development
}
