import AppAttestTesting
import Crypto
import DER

/// What NIST PKITS 4.8 to 4.16 ask: policies, constraints on names, unknown extensions.
extension PathRow {
    /// Extensions that the intermediate and the leaf have besides.
    private static func more(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, issuer: [[UInt8]] = [],
        leaf: [[UInt8]] = [], reason: String? = nil
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, reason: reason) { draft, _ in
            draft.issuer.extensions += issuer
            draft.leaf.extensions += leaf
        }
    }

    private static let one = PathDER.policies(PathDER.policyOne)
    private static let two = PathDER.policies(PathDER.policyTwo)
    private static let explicit = PathDER.policyConstraints(explicit: 0)
    private static let noPolicy = PathVerdict.refused("no explicit policy, depth 0")
    private static let badPolicy = PathVerdict.refused(
        "invalid or inconsistent certificate policy extension, depth 1")
    private static let outside = PathVerdict.refused("permitted subtree violation, depth 0")
    private static let inside = PathVerdict.refused("excluded subtree violation, depth 0")
    private static let unhandled = PathVerdict.refused("unhandled critical extension, depth 0")
    private static let ours = DERWriter.sequence([
        PathDER.attribute(PathDER.organization, "Paths")
    ])
    private static let theirs = DERWriter.sequence([
        PathDER.attribute(PathDER.organization, "Others")
    ])
    private static let unknown: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0x83, 0xB3, 0x3A, 0x85, 0x1A, 0x01,
    ]

    static let policies: [PathRow] = [
        more("PKITS 4.8.1 the same policy", valid: true, .accepted, issuer: [one], leaf: [one]),
        more("PKITS 4.8.2 no policies", valid: true, .accepted, leaf: [one]),
        more("PKITS 4.8.3 different policies", valid: true, .accepted, issuer: [one], leaf: [two]),
        more(
            "PKITS 4.9.1 requireExplicitPolicy far below", valid: true, .accepted,
            issuer: [PathDER.policyConstraints(explicit: 10)]),
        more(
            "PKITS 4.9.3 requireExplicitPolicy without a policy", valid: false, noPolicy,
            issuer: [one, explicit]),
        more(
            "PKITS 4.9.4 requireExplicitPolicy with a policy", valid: true, .accepted,
            issuer: [one, explicit], leaf: [one]),
        more(
            "PKITS 4.9.5 requireExplicitPolicy with another policy", valid: false, noPolicy,
            issuer: [one, explicit], leaf: [two]),
        more(
            "PKITS 4.10.1 a policy that is mapped", valid: true, .accepted,
            issuer: [
                one, explicit, PathDER.policyMapping(PathDER.policyOne, PathDER.policyTwo),
            ], leaf: [two]),
        more(
            "PKITS 4.10.7 mapping from anyPolicy", valid: false, badPolicy,
            issuer: [
                PathDER.policies(PathDER.anyPolicy), explicit,
                PathDER.policyMapping(PathDER.anyPolicy, PathDER.policyOne),
            ], leaf: [one]),
        PathRow("PKITS 4.11.1 inhibitPolicyMapping", valid: false, noPolicy) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            var upper = try world.authority(
                PathDER.name("Upper"), key, below: draft.root, by: .own(world.rootKey))
            upper.extensions += [one, PathDER.policyConstraints(explicit: 0, mapping: 0)]
            draft.issuer.issuer = upper.subject
            draft.issuer.signer = key
            draft.issuer.extensions += [
                one, PathDER.policyMapping(PathDER.policyOne, PathDER.policyTwo),
            ]
            draft.leaf.extensions.append(two)
            draft.chain.append(upper)
        },
        more(
            "PKITS 4.12.1 inhibitAnyPolicy", valid: false, noPolicy,
            issuer: [one, explicit, PathDER.standard(54, critical: true, [0x02, 1, 0])],
            leaf: [PathDER.policies(PathDER.anyPolicy)]),
        more(
            "PKITS 4.13.1 a subject inside nameConstraints", valid: true, .accepted,
            issuer: [PathDER.nameConstraints(permitted: PathDER.directoryName(ours))]),
        more(
            "PKITS 4.13.2 a subject outside nameConstraints", valid: false, outside,
            issuer: [PathDER.nameConstraints(permitted: PathDER.directoryName(theirs))]),
        more(
            "PKITS 4.13.8 a subject in an excluded subtree", valid: false, inside,
            issuer: [PathDER.nameConstraints(excluded: PathDER.directoryName(ours))]),
        more(
            "PKITS 4.13.30 a host inside nameConstraints", valid: true, .accepted,
            issuer: [PathDER.nameConstraints(permitted: PathDER.dnsName("example.com"))],
            leaf: [PathDER.alternativeName(PathDER.dnsName("a.example.com"))]),
        more(
            "PKITS 4.13.31 a host outside nameConstraints", valid: false, outside,
            issuer: [PathDER.nameConstraints(permitted: PathDER.dnsName("example.com"))],
            leaf: [PathDER.alternativeName(PathDER.dnsName("example.org"))]),
        more(
            "PKITS 4.16.1 an unknown extension, not critical", valid: true, .accepted,
            leaf: [PathDER.item(unknown, [])]),
        more(
            "PKITS 4.16.2 an unknown critical extension", valid: false, unhandled,
            leaf: [PathDER.item(unknown, critical: true, [])]),
        more(
            "limbo rfc5280::unknown-critical-extension-intermediate", valid: false,
            .refused("unhandled critical extension, depth 1"),
            issuer: [PathDER.item(unknown, critical: true, [])]),
        PathRow(
            "limbo rfc5280::unknown-critical-extension-root", valid: false,
            .refused("unhandled critical extension, depth 2")
        ) { draft, _ in
            draft.root.extensions.append(PathDER.item(unknown, critical: true, []))
        },
        more(
            "limbo rfc5280::nc::permitted-dns-match-noncritical", valid: false, .accepted,
            issuer: [
                PathDER.nameConstraints(
                    permitted: PathDER.dnsName("example.com"), critical: false)
            ],
            reason: "a constraint holds whether or not it is critical: what issuers have to mark"
                + " so is theirs to keep"),
        more(
            "limbo rfc5280::pc::ica-noncritical-pc", valid: false, .accepted,
            issuer: [PathDER.policyConstraints(explicit: 3, critical: false)],
            reason: "the same"),
    ]
}
