import EventLoop
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
        let loop = try EventLoop()
        let client = try HTTPSClient(loop: loop, proof.configuration)
        var finding: Finding?
        client.send(.document(at: url)) { result in
            switch KeySetAnswer(result, for: Set(proof.algorithms)) {
            case .keys(_, let tally, let life):
                finding = .keys(tally, lifeSeconds: life.components.seconds)
            case .none(_, let reason): finding = .failure(reason)
            }
            loop.stop()
        }
        loop.run()
        client.close()
        return finding
    }
}
