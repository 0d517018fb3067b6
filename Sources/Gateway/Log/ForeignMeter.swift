import EventLoop
import Judgement
import Telemetry

/// A way in which requests pass by tokens of another issuer.
struct ForeignUse: Hashable, Sendable, Comparable {
    let route: String
    /// The operator's name for the issuer.
    let proof: String
    /// The token's subject, if subjects are told apart.
    let subject: String

    /// The label in place of the subject of an invalid token.
    static let noSubject = "none"

    /// True if the token was valid.
    var isVerified: Bool { subject != Self.noSubject }

    static func < (left: ForeignUse, right: ForeignUse) -> Bool {
        (left.route, left.proof, left.subject) < (right.route, right.proof, right.subject)
    }
}

/// The counts of one worker about tokens of other issuers. Only its thread writes them. There are
/// as many names as the configuration has.
final class ForeignMeter: Sendable {
    private let blocks = Locked<[ForeignUse: CountBlock]>([:])

    func count(_ use: ForeignUse, _ decision: Decision) {
        let block = blocks.withLock { blocks in
            if let known = blocks[use] { return known }
            let fresh = CountBlock(count: Decision.allCases.count)
            blocks[use] = fresh
            return fresh
        }
        block.add(Int(decision.rawValue))
    }

    /// The counts by decision.
    var counts: [ForeignUse: [UInt64]] {
        blocks.withLock { blocks in
            blocks.mapValues { block in
                Decision.allCases.map { block.value(Int($0.rawValue)) }
            }
        }
    }
}
