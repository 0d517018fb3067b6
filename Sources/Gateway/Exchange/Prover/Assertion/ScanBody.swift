import Attestation
import Bytes
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// The client data of the `body` shape: members that are found while the body comes. No JSON value
/// is built, because the sender has proved nothing yet.
extension AssertionProver {
    /// No app sends more strings than this that could be challenges of the gateway.
    private static let candidateCountMax = 8

    private static let clientDataNames = RequestClientData.requiredMembers.map {
        Array($0.description.utf8)
    }

    /// The members that the route names, and those that mark client data of the `header` shape.
    private var bodyNames: [[UInt8]] {
        var names = [Array(policy.challengeMember.utf8)]
        if let name = policy.keyIDMember { names.append(Array(name.utf8)) }
        return names + Self.clientDataNames
    }

    var bodySearch: JSONScanner.Search {
        let pointers = bodyNames.map { JSONPointer(name: $0) }
        guard policy.challenge == .off else {
            return JSONScanner.Search(
                pointers: pointers, stringByteCountMax: Self.challengeByteCountMax)
        }
        return JSONScanner.Search(
            pointers: pointers, stringByteCountMax: Self.challengeByteCountMax,
            candidateCountMax: Self.candidateCountMax, isCandidate: Self.looksLikeChallenge)
    }

    /// The members of a JSON body that the operator named; both nil for any other body.
    func bodyMembers() throws(Refusal) -> (challenge: [UInt8]?, keyID: KeyID?) {
        guard let bodyScan = intake.state.scan else { return (nil, nil) }
        let findings: JSONFindings
        do throws(JSONError) {
            findings = try bodyScan.scanner.finish()
        } catch {
            guard policy.challenge == .required else { return (nil, nil) }
            throw Refusal(.challengeRequired, .bodyIsNotJSON)
        }
        let names = bodyNames
        func member(_ name: [UInt8]) -> JSONMember {
            names.firstIndex(of: name).map { findings.members[$0] } ?? .absent
        }
        // The body is client data of the `header` shape. Its method and path would not be compared
        // here.
        guard Self.clientDataNames.contains(where: { member($0) == .absent }) else {
            throw Refusal(.assertionMalformed, .bodyIsClientData)
        }
        let keyIDMember = policy.keyIDMember.map { member(Array($0.utf8)) } ?? .absent
        let keyID = try keyID(in: keyIDMember)
        let named = member(Array(policy.challengeMember.utf8))
        return (try challenge(in: named, findings), keyID)
    }

    /// The key id in a member. As in the header, a malformed one does not count as left out.
    private func keyID(in member: JSONMember) throws(Refusal) -> KeyID? {
        switch member {
        case .absent: return nil
        case .string(let text):
            if let keyID = KeyID(base64: text.span) { return keyID }
        case .number, .other, .repeated: break
        }
        throw Refusal(.assertionMalformed, .keyIDMember)
    }

    private func challenge(
        in member: JSONMember, _ findings: JSONFindings
    ) throws(Refusal) -> [UInt8]? {
        var named: [UInt8]?
        switch member {
        case .absent, .number, .other: break
        case .string(let text): named = text
        case .repeated:
            throw Refusal(
                policy.challenge == .off ? .assertionMalformed : .challengeRequired,
                .challengeRepeated)
        }
        guard policy.challenge == .off else { return named }
        // A route that names another member may have accepted this body, so a challenge of the
        // gateway must be spent whatever its name. With two, the body could be used twice.
        let ours = Set(findings.candidates.filter { isOurs($0) })
        guard !findings.hasMoreCandidates, ours.count < 2 else {
            throw Refusal(.assertionMalformed, .challengesTooMany)
        }
        return ours.first ?? named
    }

    private func isOurs(_ text: [UInt8]) -> Bool { Self.open(text.span, site.sealer) != nil }
}
