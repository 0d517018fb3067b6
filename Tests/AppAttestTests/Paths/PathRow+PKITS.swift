import AppAttestTesting
import Crypto
import DER

/// What NIST PKITS 4.1 to 4.6 ask: signatures, dates, names, who may issue.
extension PathRow {
    static let rollover =
        "Apple gives each new key a new name, so a self-issued certificate"
        + " that is no root ends the path"
    private static let noLists = "Apple publishes no revocation for these certificates"
    private static let fewer =
        "Apple's paths have one intermediate; at most four certificates"
        + " are looked at"

    static let signatures: [PathRow] = [
        PathRow("PKITS 4.1.1 valid signatures", valid: true, .accepted) { _, _ in },
        PathRow("PKITS 4.1.2 invalid CA signature", valid: false, .signature) { draft, _ in
            draft.issuer.isDamaged = true
        },
        PathRow("PKITS 4.1.3 invalid EE signature", valid: false, .signature) { draft, _ in
            draft.leaf.isDamaged = true
        },
        PathRow("PKITS 4.2.1 invalid CA notBefore", valid: false, .early) { draft, _ in
            draft.issuer.notBefore = RawCertificate.utcTime("270101000000Z")
        },
        PathRow("PKITS 4.2.2 invalid EE notBefore", valid: false, .early) { draft, _ in
            draft.leaf.notBefore = RawCertificate.utcTime("270101000000Z")
        },
        PathRow("PKITS 4.2.3 valid pre-2000 UTC notBefore", valid: true, .accepted) { draft, _ in
            draft.issuer.notBefore = RawCertificate.utcTime("500101120100Z")
        },
        PathRow("PKITS 4.2.4 valid GeneralizedTime notBefore", valid: true, .accepted) { draft, _ in
            draft.issuer.notBefore = RawCertificate.generalizedTime("20020101120100Z")
        },
        PathRow("PKITS 4.2.5 invalid CA notAfter", valid: false, .expired) { draft, _ in
            draft.issuer.notAfter = RawCertificate.utcTime("260930235959Z")
        },
        PathRow("PKITS 4.2.6 invalid EE notAfter", valid: false, .expired) { draft, _ in
            draft.leaf.notAfter = RawCertificate.utcTime("260930235959Z")
        },
        PathRow("PKITS 4.2.7 invalid pre-2000 UTC notAfter", valid: false, .expired) { draft, _ in
            draft.leaf.notBefore = RawCertificate.utcTime("970101120100Z")
            draft.leaf.notAfter = RawCertificate.utcTime("990101120100Z")
        },
        PathRow("PKITS 4.2.8 valid GeneralizedTime notAfter", valid: true, .accepted) { draft, _ in
            draft.issuer.notAfter = RawCertificate.generalizedTime("20500101120100Z")
        },
        PathRow("PKITS 4.4.1 missing CRL", valid: false, .accepted, reason: noLists) { draft, _ in
            // A distribution point, from which nothing is fetched.
            let uri = DERWriter.element(0x86, Array("http://127.0.0.1/list".utf8))
            let point = DERWriter.sequence([
                DERWriter.context(0, DERWriter.context(0, uri))
            ])
            draft.leaf.extensions.append(PathDER.standard(31, DERWriter.sequence([point])))
        },
    ]

    private static func named(
        _ number: String, _ subject: String, _ issuer: String, _ tag: UInt8 = PathDER.printable
    ) -> PathRow {
        PathRow("PKITS \(number)", valid: true, .accepted) { draft, _ in
            draft.issuer.subject = PathDER.name(subject, PathDER.printable)
            draft.leaf.issuer = PathDER.name(issuer, tag)
        }
    }

    /// Attributes that section 4.1.2.4 of RFC 5280 names.
    private static func attributes(_ oids: [[UInt8]]) -> [UInt8] {
        DERWriter.sequence(oids.map { PathDER.attribute($0, "1", PathDER.printable) })
    }

    static let names: [PathRow] = [
        PathRow("PKITS 4.3.1 invalid name chaining", valid: false, .untrusted) { draft, _ in
            draft.leaf.issuer = PathDER.name("Another")
        },
        PathRow("PKITS 4.3.2 invalid order of names", valid: false, .untrusted) { draft, _ in
            draft.leaf.issuer = DERWriter.sequence([
                PathDER.attribute(PathDER.commonName, "Issuer"),
                PathDER.attribute(PathDER.organization, "Paths"),
            ])
        },
        named("4.3.3 white space inside a name", "Good   CA", "Good CA"),
        named("4.3.4 white space around a name", "Good CA", "  Good CA   "),
        named("4.3.5 capitals in a name", "Good CA", "GOOD ca"),
        named("4.3.10 PrintableString becomes UTF8String", "Good CA", "Good CA", PathDER.utf8),
        named("4.3.11 UTF8String in other capitals", "Good CA", "good cA", PathDER.utf8),
        PathRow("PKITS 4.3.6 unique identifiers", valid: true, .accepted) { draft, _ in
            draft.issuer.uniqueIDs =
                DERWriter.element(0x81, [0, 1])
                + DERWriter.element(0x82, [0, 2])
        },
        PathRow("PKITS 4.3.7 mandatory attribute types", valid: true, .accepted) { draft, _ in
            let name = attributes([[0x55, 4, 0x2E], [0x55, 4, 8], [0x55, 4, 5], [0x55, 4, 11]])
            draft.issuer.subject = name
            draft.leaf.issuer = name
        },
        PathRow("PKITS 4.3.8 optional attribute types", valid: true, .accepted) { draft, _ in
            let name = attributes([
                [0x55, 4, 0x41], [0x55, 4, 0x2C], [0x55, 4, 4], [0x55, 4, 12],
            ])
            draft.issuer.subject = name
            draft.leaf.issuer = name
        },
        PathRow(
            "PKITS 4.5.1 self-issued, old key with new", valid: true, .untrusted, reason: rollover
        ) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            let newer = try world.authority(
                draft.issuer.subject, key, below: draft.root, by: .own(world.rootKey))
            let older = try world.authority(
                newer.subject, .own(world.issuerKey), below: newer, by: key, 0)
            draft.chain = [older, newer]
        },
        PathRow(
            "PKITS 4.5.3 self-issued, new key with old", valid: true, .untrusted, reason: rollover
        ) { draft, world in
            let key = PathKey.own(try .generate(.p256))
            let older = try world.authority(
                draft.issuer.subject, key, below: draft.root, by: .own(world.rootKey))
            draft.chain = [
                try world.authority(
                    older.subject, .own(world.issuerKey), below: older, by: key), older,
            ]
        },
    ]

    /// The intermediate has other extensions.
    private static func issuer(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, _ extensions: [[UInt8]]
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict) { draft, _ in
            draft.issuer.extensions = extensions
        }
    }

    /// A path of intermediates with these path lengths, from the root down; nil for none.
    /// Those that `selfIssued` counts have the name of the one above.
    private static func lengths(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict, _ lengths: [UInt8?],
        selfIssued: Set<Int> = [], receipt: PathVerdict? = nil, reason: String? = nil
    ) -> PathRow {
        PathRow(name, valid: isValid, verdict, receipt: receipt, reason: reason) { draft, world in
            var above = draft.root
            var signer = PathKey.own(world.rootKey)
            draft.chain = []
            for (index, length) in lengths.enumerated() {
                let isLast = index == lengths.count - 1
                let key = PathKey.own(isLast ? world.issuerKey : try .generate(.p256))
                let name =
                    selfIssued.contains(index)
                    ? above.subject : PathDER.name("Authority \(index)")
                above = try world.authority(name, key, below: above, by: signer, length)
                signer = key
                draft.chain.insert(above, at: 0)
            }
            draft.leaf.issuer = above.subject
        }
    }

    private static let signing = PathDER.usage(PathDER.signsCertificates)

    static let constraints: [PathRow] = [
        issuer("PKITS 4.6.1 missing basicConstraints", valid: false, .notCA, [signing]),
        issuer(
            "PKITS 4.6.2 cA false", valid: false, .notCA,
            [PathDER.constraints(isCA: false), signing]),
        issuer(
            "PKITS 4.6.3 cA false, not critical", valid: false, .notCA,
            [PathDER.constraints(isCA: false, critical: false), signing]),
        issuer(
            "PKITS 4.6.4 basicConstraints not critical", valid: true, .accepted,
            [PathDER.constraints(isCA: true, critical: false), signing]),
        lengths("PKITS 4.6.5 pathLenConstraint 0 exceeded", valid: false, .pathLength, [0, nil]),
        lengths("PKITS 4.6.7 pathLenConstraint 0 kept", valid: true, .accepted, [0]),
        lengths(
            "PKITS 4.6.9 pathLenConstraint 0 below 6 exceeded", valid: false, .pathLength,
            [6, 0, 0]),
        lengths(
            "PKITS 4.6.11 pathLenConstraint 1 below 6 exceeded", valid: false, .count,
            [6, 1, 1, nil], receipt: .pathLength),
        lengths(
            "PKITS 4.6.13 pathLenConstraint 1 below 4 below 6 kept", valid: true, .count,
            [6, 4, 1, nil], receipt: .accepted, reason: fewer),
        lengths(
            "PKITS 4.6.15 self-issued below pathLenConstraint 0", valid: true, .untrusted,
            [0, nil], selfIssued: [1], reason: rollover),
        lengths(
            "PKITS 4.6.16 below self-issued and pathLenConstraint 0", valid: false, .untrusted,
            [0, nil, nil], selfIssued: [1]),
        lengths(
            "limbo pathlen::intermediate-pathlen-may-increase", valid: true, .accepted, [1, 2]),
        lengths(
            "limbo pathlen::intermediate-pathlen-too-long", valid: false, .pathLength, [1, 0, 0]),
        lengths(
            "limbo pathlen::self-issued-certs-pathlen", valid: true, .untrusted, [1, 1, 0],
            selfIssued: [1], reason: rollover),
        PathRow("PKITS 4.6.6 a CA below pathLenConstraint 0", valid: false, .pathLength) {
            draft, world in
            let key = PathKey.own(try .generate(.p256))
            let lower = try world.authority(
                PathDER.name("Lower"), key, below: draft.issuer, by: .own(world.issuerKey), 0)
            draft.chain.insert(lower, at: 0)
            draft.leaf.issuer = lower.subject
            draft.leaf.signer = key
            draft.leaf.extensions[0] = PathDER.constraints(isCA: true)
        },
        PathRow(
            "limbo pathlen::validation-ignores-pathlen-in-leaf", valid: true, .issuing,
            receipt: .accepted, reason: "an attested key issues nothing"
        ) { draft, _ in
            draft.leaf.extensions[0] = PathDER.constraints(isCA: true, 0)
            draft.leaf.extensions[1] = PathDER.usage(PathDER.signsCertificates)
        },
        issuer(
            "PKITS 4.7.1 critical keyUsage without keyCertSign", valid: false, .notCA,
            [PathDER.constraints(isCA: true), PathDER.usage(PathDER.signsListsAlone)]),
        issuer(
            "PKITS 4.7.2 keyUsage without keyCertSign, not critical", valid: false, .notCA,
            [
                PathDER.constraints(isCA: true),
                PathDER.usage(PathDER.signsListsAlone, critical: false),
            ]),
        issuer(
            "PKITS 4.7.3 keyUsage not critical", valid: true, .accepted,
            [
                PathDER.constraints(isCA: true),
                PathDER.usage(PathDER.signsCertificates, critical: false),
            ]),
        PathRow(
            "PKITS 4.7.4 keyUsage without cRLSign", valid: false, .accepted, reason: noLists
        ) { draft, _ in
            draft.issuer.extensions[1] = PathDER.usage(PathDER.signsCertificatesAlone)
        },
    ]
}
