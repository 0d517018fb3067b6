import Policy

/// How far the gateway has come with a token of another issuer.
enum ForeignTokenProof {
    /// The header is there.
    case announced(ForeignProof)
    /// Signed by the issuer, in time, and for us; the subject as metrics name it.
    case verified(ForeignProof, subject: String)

    var proof: ForeignProof {
        switch self {
        case .announced(let proof), .verified(let proof, _): proof
        }
    }

    /// Nil before it was verified.
    var subject: String? {
        if case .verified(_, let subject) = self { subject } else { nil }
    }
}
