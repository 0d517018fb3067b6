import Attestation
import Bytes
import KeyStore
import Policy

/// The sender whose count an operator asks about.
enum QuotaSelection: Equatable, Sendable {
    case key(KeyID)
    /// A user's name, as the header of `signals.user` has it.
    case user(String)
    /// An address in IPv6 form, which stands for its network.
    case address(Bytes16)
    case app(String)
    case installation(InstallationID)
    /// The senders that the quota cannot tell apart.
    case unknown

    /// True if a quota of `subject` has counts of such senders. A key leads to its installation.
    /// Where users are counted, it has a count of its own while its user is not known.
    func fits(_ subject: Quota.Subject) -> Bool {
        switch self {
        case .key: [.key, .installation, .user].contains(subject)
        case .user: subject == .user
        case .address: subject == .address
        case .app: subject == .app
        case .installation: subject == .installation
        case .unknown: true
        }
    }
}

/// An operator's call about one count of a quota.
struct QuotaOrder: Equatable, Sendable {
    enum Action: Equatable, Sendable {
        case show
        /// Sets what is used to nothing at that moment.
        case reset
        /// Gives this many, whatever is used.
        case grant(Int)
    }

    /// The name of the quota.
    let quota: String
    let action: Action
    let selection: QuotaSelection
}
