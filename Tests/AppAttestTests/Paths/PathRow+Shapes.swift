import Crypto

/// How the certificates of a path lie together: order, surplus, cycles, several ways up.
extension PathRow {
    static let shapes: [PathRow] = [
        PathRow("an intermediate that is missing", valid: false, .untrusted) { draft, _ in
            draft.chain = []
        },
        PathRow(
            "no certificate at all", valid: false, .count,
            receipt: .refused(
                "malformed CMS: no certificates")
        ) { draft, _ in
            draft.rewrite = { $0 = [] }
        },
        PathRow("the root among the certificates", valid: true, .accepted) { draft, _ in
            draft.chain.append(draft.root)
        },
        PathRow("issuers out of order", valid: true, .accepted) { draft, _ in
            draft.chain.insert(draft.root, at: 0)
        },
        PathRow(
            "the leaf behind its issuer", valid: false, .issuing, receipt: .accepted,
            reason: "the certificates of CMS are a set; the signer is named beside it"
        ) { draft, _ in draft.rewrite = { $0.reverse() } },
        PathRow("a certificate of no use", valid: true, .accepted) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            draft.chain.append(
                try world.authority(PathDER.name("Other"), key, below: draft.root, by: key))
        },
        PathRow(
            "a certificate of no use that cannot be read", valid: true, .malformed,
            reason: "Apple sends nothing else, and what is not read cannot be judged"
        ) { draft, _ in draft.rewrite = { $0.append([0x30, 0x00]) } },
        PathRow(
            "the intermediate twice", valid: true, .accepted
        ) { draft, _ in draft.rewrite = { $0.append($0[1]) } },
        PathRow(
            "more certificates than are looked at", valid: true, .count,
            receipt: .refused("malformed CMS: 6 certificates"),
            reason: "Apple sends two with a leaf; each more may cost a signature"
        ) { draft, _ in draft.rewrite = { $0 += [[UInt8]](repeating: $0[1], count: 4) } },
        PathRow("a namesake with another key beside the issuer", valid: true, .accepted) {
            draft, world in
            let key = PathKey.own(try .generate(.p256))
            draft.chain.insert(
                try world.authority(
                    draft.issuer.subject, key, below: draft.root, by: .own(world.rootKey)), at: 0)
        },
        PathRow("the issuer's key under another name", valid: false, .untrusted) { draft, _ in
            draft.issuer.subject = PathDER.name("Another")
        },
        PathRow("the root's name with another key", valid: false, .signature) { draft, _ in
            draft.issuer.signer = .own(try .generate(.p384))
        },
        PathRow("a leaf that signs itself", valid: false, .untrusted) { draft, world in
            draft.leaf.issuer = draft.leaf.subject
            draft.leaf.signer = .own(world.deviceKey.key)
            draft.chain = []
        },
        PathRow("a trusted root whose own signature is broken", valid: false, .signature) {
            draft, _ in draft.root.isDamaged = true
        },
        PathRow(
            "an intermediate as the only trusted certificate", valid: true, .untrusted,
            reason: "a root is what signs itself: a shorter way up would pass by its constraints"
        ) { draft, _ in
            draft.otherRoots = [draft.issuer]
            draft.isRootTrusted = false
        },
        PathRow("limbo pathological::multiple-chains-expired-intermediate", valid: true, .accepted)
        {
            draft, world in
            draft.chain.append(
                try crossed(draft, world, notAfter: "250601000000Z"))
        },
        PathRow("an intermediate that another root has signed, too", valid: true, .accepted) {
            draft, world in
            draft.chain.append(try crossed(draft, world, notAfter: "350101000000Z"))
        },
        PathRow(
            "limbo pathological::intermediate-cycle-distinct-cas", valid: false, .untrusted
        ) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            let other = try world.authority(
                PathDER.name("Other"), key, below: draft.issuer, by: .own(world.issuerKey))
            draft.chain = [
                try world.authority(
                    draft.issuer.subject, .own(world.issuerKey), below: other, by: key), other,
            ]
        },
        PathRow(
            "limbo pathological::intermediate-cycle-same-logical-ca", valid: false, .untrusted
        ) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            let first = try world.authority(
                draft.issuer.subject, .own(world.issuerKey), below: draft.issuer, by: key)
            draft.chain = [
                first,
                try world.authority(
                    draft.issuer.subject, key, below: first, by: .own(world.issuerKey)),
            ]
        },
        PathRow("limbo cve::cve-2024-0567", valid: true, .accepted) { draft, world in
            // The root under a stranger's signature, and the stranger under the root's.
            let key = PathKey.own(try .generate(.p256))
            let stranger = try world.authority(
                PathDER.name("Stranger"), key, below: draft.root, by: .own(world.rootKey))
            draft.chain += [
                stranger,
                try world.authority(
                    draft.root.subject, .own(world.rootKey), below: stranger, by: key),
            ]
        },
    ]

    /// The root's key and name under the signature of a second root, which is trusted, too.
    private static func crossed(
        _ draft: PathDraft, _ world: PathWorld, notAfter: String
    ) throws -> RawCertificate {
        let key = PathKey.own(try .generate(.p256))
        var second = draft.root
        second.subject = PathDER.name("Second root")
        var cross = try world.authority(
            draft.root.subject, .own(world.rootKey), below: second, by: key)
        cross.notAfter = RawCertificate.utcTime(notAfter)
        return cross
    }
}
