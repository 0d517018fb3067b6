import Policy
import YAML

/// What a route's `accept` names.
enum AcceptedProof: Hashable {
    /// The gateway's and Apple's.
    case own(AcceptedProofs)
    case foreign(ForeignProof)
}

/// Reads `accept` of a route.
struct AcceptReader {
    let proofs: [ProofSettings]

    private static let prefix = "proof:"
    private static let own: [(name: String, value: AcceptedProofs)] = [
        ("assertion", .assertion), ("token", .token), ("device_check", .deviceCheck),
        ("developer", .developer),
    ]

    var kind: Kind<[AcceptedProof]> {
        .list(element, empty: "is empty: name what proves a request, or set mode: off")
            .checked(checkHeaders)
    }

    private var element: Kind<AcceptedProof> {
        Kind(
            .either([
                .words(Self.own.map(\.name)),
                .text("proof:NAME", pattern: "^proof:[A-Za-z0-9._-]{1,64}$"),
            ]), read: read
        ) { proof in
            switch proof {
            case .own(let kind):
                Self.own.first { $0.value == kind }.map { .scalar($0.name) } ?? .absent
            case .foreign(let proof): .text(Self.prefix + proof.name)
            }
        }
    }

    private func read(_ field: Field) -> AcceptedProof? {
        guard case .scalar = field.node.kind else {
            return field.choice(Self.own).map { .own($0) }
        }
        guard let text = field.text() else { return nil }
        guard text.value.hasPrefix(Self.prefix) else {
            return field.choice(Self.own).map { .own($0) }
        }
        let name = String(text.value.dropFirst(Self.prefix.count))
        if let index = proofs.firstIndex(where: { $0.name == name }) {
            return .foreign(ForeignProof(index: index, name: name, tier: proofs[index].tier))
        }
        // A faulty one has been reported.
        guard !field.context.has("proofs.\(name)") else { return nil }
        let ending = Suggestion.ending(for: name, among: proofs.map(\.name), listing: true)
        field.error("proofs has no \(quoted(name))\(ending)")
        return nil
    }

    /// Reports two proofs with one header, of which nobody could tell whose token it holds.
    private func checkHeaders(_ field: Field, _ accepted: [AcceptedProof]) {
        var taken: [String: String] = [:]
        for case .foreign(let proof) in accepted {
            let header = HeaderReader.fold(proofs[proof.index].header)
            if let other = taken[header] {
                field.error(
                    "proof:\(other) and proof:\(proof.name) have the same header: a route can "
                        + "take one of them only")
            }
            taken[header] = proof.name
        }
    }
}

extension RoutePolicy {
    /// What `accept` names, in the order in which it is printed.
    var accepted: [AcceptedProof] {
        get {
            let kinds: [AcceptedProofs] = [.assertion, .token, .deviceCheck, .developer]
            return kinds.filter(accept.contains).map { .own($0) } + proofs.map { .foreign($0) }
        }
        set {
            accept = []
            proofs = []
            for proof in newValue {
                switch proof {
                case .own(let kind): accept.insert(kind)
                case .foreign(let proof):
                    accept.insert(.foreign)
                    proofs.append(proof)
                }
            }
        }
    }
}
