import GatewayTesting
import Testing

/// A case of others, minted anew as the certificates of an attestation and of a receipt.
struct PathRow: Sendable, CustomTestStringConvertible {
    /// After the case that it follows: a number of NIST PKITS, or a name of x509-limbo.
    let name: String
    /// What those who published the case expect.
    let isValid: Bool
    let verdict: PathVerdict
    /// The verdict on a receipt, where it differs.
    var receipt: PathVerdict?
    /// Why the gateway decides otherwise than they expect, where it does.
    var reason: String?
    let edit: @Sendable (inout PathDraft, PathWorld) throws -> Void

    init(
        _ name: String, valid isValid: Bool, _ verdict: PathVerdict,
        receipt: PathVerdict? = nil, reason: String? = nil,
        _ edit: @escaping @Sendable (inout PathDraft, PathWorld) throws -> Void
    ) {
        self.name = name
        self.isValid = isValid
        self.verdict = verdict
        self.receipt = receipt
        self.reason = reason
        self.edit = edit
    }

    var testDescription: String { name }

    static let all = signatures + names + constraints + policies + profile + encodings + shapes
}

@Suite("Certificate paths after PKITS and x509-limbo")
struct CertificatePathTableTests {
    let world: PathWorld

    /// OpenSSL 3.0 loses some bytes at a certificate that constrains policies and names none: its
    /// policy_cache_new() returns without freeing the constraints.
    private static let lossy: Set = [
        "PKITS 4.9.1 requireExplicitPolicy far below", "limbo rfc5280::pc::ica-noncritical-pc",
    ]

    init() throws { world = try PathWorld.shared.get() }
}

extension CertificatePathTableTests {
    @Test(
        "are accepted in attestations and receipts, or refused, each as its row says",
        arguments: PathRow.all)
    func row(_ row: PathRow) throws {
        var draft = try world.draft()
        try row.edit(&draft, world)
        let path = try draft.minted(world)
        let verify = { try (world.attestation(path), world.receipt(path)) }
        let (attestation, receipt) =
            try Self.lossy.contains(row.name) ? LeakSanitizer.unheard(verify) : verify()
        #expect(attestation == row.verdict)
        #expect(receipt == row.receipt ?? row.verdict)
    }

    @Test("differ from what was published only with a reason, and no row twice")
    func reasons() {
        for row in PathRow.all {
            let verdicts = [row.verdict, row.receipt ?? row.verdict]
            let isAsPublished = verdicts.allSatisfy { ($0 == .accepted) == row.isValid }
            #expect(isAsPublished == (row.reason == nil), "\(row.name)")
        }
        let names = Set(PathRow.all.map(\.name))
        #expect(names.count == PathRow.all.count)
        #expect(Self.lossy.isSubset(of: names))
    }
}
