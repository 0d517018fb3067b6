import Policy

/// How far the gateway has come with a token of another issuer.
enum ForeignTokenProof {
    /// The header is there.
    case announced(ForeignProof)
    /// The issuer signed the token for this gateway, and it has not expired. Metrics name the
    /// subject.
    case verified(ForeignProof, subject: String)

    var proof: ForeignProof {
        switch self {
        case .announced(let proof), .verified(let proof, _): proof
        }
    }

    /// The subject as metrics name it; nil before the token was verified.
    var subject: String? {
        if case .verified(_, let subject) = self { subject } else { nil }
    }
}
