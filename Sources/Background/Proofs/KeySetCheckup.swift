import HTTPSClient
package import JWT
package import Settings

/// Asks an issuer for its keys, for `doctor`.
package enum KeySetCheckup {
    package enum Finding {
        case keys(JSONWebKeyTally, lifeSeconds: Int64)
        case failure(String)
    }

    /// Blocks. Nil if the keys are in a file.
    package static func ask(_ proof: ProofSettings) throws -> Finding? {
        guard let url = proof.url else { return nil }
        let result = try HTTPSClient.fetch(.document(at: url), proof.configuration)
        switch KeySetAnswer(result, for: Set(proof.algorithms)) {
        case .keys(_, let tally, let life):
            return .keys(tally, lifeSeconds: life.components.seconds)
        case .none(_, let reason): return .failure(reason)
        }
    }
}
