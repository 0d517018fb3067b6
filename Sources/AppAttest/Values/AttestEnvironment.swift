/// Which of Apple's App Attest services vouched for a key, as the AAGUID says.
public enum AttestEnvironment: String, Sendable, CaseIterable {
    case production
    case development
}
