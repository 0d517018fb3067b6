import Policy
import YAML

/// A proof that a route's `accept` names.
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
        if case .scalar(let name, _)? = field.node("proof")?.kind {
            field.error("write \(Self.prefix)\(shown(name)) without a space")
            return nil
        }
        guard let text = field.text() else { return nil }
        guard text.value.hasPrefix(Self.prefix) else { return own(text, field) }
        let name = String(text.value.dropFirst(Self.prefix.count))
        if let index = proofs.firstIndex(where: { $0.name == name }) {
            return .foreign(ForeignProof(index: index, name: name, tier: proofs[index].tier))
        }
        // A faulty one has been reported.
        guard !field.context.has("proofs.\(name)") else { return nil }
        guard field.context.has("proofs") else {
            field.error(
                "there is no proofs.\(shown(name)): add \"proofs: { \(shown(name)): "
                    + "\(Self.example(name)) }\"")
            return nil
        }
        let ending = Suggestion.ending(for: name, among: proofs.map(\.name), listing: true)
        field.error("proofs has no \(quoted(name))\(ending)")
        return nil
    }

    private func own(_ text: SettingText, _ field: Field) -> AcceptedProof? {
        if let found = Self.own.first(where: { $0.name == text.value }) { return .own(found.value) }
        let names = Self.own.map(\.name)
        let candidates = names + proofs.map { Self.prefix + $0.name }
        let ending =
            proofs.contains { $0.name == text.value }
            ? ": did you mean \(quoted(Self.prefix + text.value))?"
            : Suggestion.ending(for: text.value, among: candidates, listing: false)
        field.error(
            "\(text.shown) is not one of \(names.joined(separator: ", ")) or proof:NAME\(ending)")
        return nil
    }

    /// The name, or NAME in place of an invalid one.
    private func shown(_ name: String) -> String { Name.isValid(name) ? name : "NAME" }

    /// The entry to write in `proofs` for the issuer that may be meant.
    private static func example(_ name: String) -> String {
        let known = name.lowercased()
        if known.hasPrefix("firebase") { return "{ preset: firebase_app_check, project: NUMBER }" }
        if known.hasPrefix("approov") { return "{ preset: approov, secret_file: PATH }" }
        return "{ issuer: ISSUER, audience: [AUDIENCE], jwks: URL, header: HEADER }"
    }

    /// Reports two proofs with one header, because the issuer of its token would be unclear.
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
    /// The proofs that `accept` names, in the order in which they are printed.
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
