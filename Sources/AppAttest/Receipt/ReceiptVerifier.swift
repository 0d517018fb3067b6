public import Attestation
import Bytes
public import Crypto

/// Verifies receipts, those that come inside attestations and those from Apple's server.
///
/// A receipt is CMS SignedData in BER, signed by a certificate that lives about a year and chains
/// to Apple Root CA - G3 (not to the App Attest root). Receipts are kept for months, so the chain
/// is judged at the moment at which the receipt says it was made.
public struct ReceiptVerifier: Sendable {
    private let roots: [Certificate]
    /// Apple Root CA - G3. It vouches for more than signers of receipts: also for certificates
    /// whose keys developers have, such as those of Apple Pay.
    private let sharedRoot: Certificate

    /// The extension by which Apple marks the certificates that sign receipts, and no others.
    static let signerMarkOID = "1.2.840.113635.100.12.15"
    /// The most bytes of a receipt. Real ones have 4 to 6 KB.
    public static let byteCountMax = 16 * 1024

    /// `roots`: ``AppleRoots/appleRootG3``. Other roots are for tests, and are trusted for receipts
    /// only.
    public init(roots: [Certificate]) {
        self.init(roots: roots, sharedRoot: AppleRoots.appleRootG3)
    }

    package init(roots: [Certificate], sharedRoot: Certificate) {
        self.roots = roots
        self.sharedRoot = sharedRoot
    }

    /// Verifies signature, chain and fields, and that the receipt is for this app and key.
    ///
    /// A nil argument is not compared. A gateway always gives app, key, environment and `creation`,
    /// the seconds since 1970 between which the receipt may say that it was made. The moment that
    /// it says is also the one at which its signer has to be valid.
    public func verify(
        _ receipt: [UInt8], appID: String?, publicKey: P256PublicKey?,
        environment: AttestEnvironment? = nil, creation: ClosedRange<Int64>? = nil
    ) throws(ReceiptFailure) -> VerifiedReceipt {
        let message = try Self.parse(receipt)
        try verifySignature(of: message)
        let fields = try ReceiptFields(content: message.content.span)
        if let appID { try Self.checkApp(fields, appID: appID) }
        if let publicKey { try Self.checkKey(fields, keyID: KeyID(of: publicKey)) }
        if let environment { try Self.checkEnvironment(fields, environment: environment) }
        if let creation, !creation.contains(fields.createdAt.seconds) { throw .timeMismatch }
        return VerifiedReceipt(fields: fields)
    }

    /// Checks signature and chain; the content may be believed afterwards.
    func verifySignature(of message: SignedData) throws(ReceiptFailure) {
        // The receipt itself says when it was made, and that decides which signers were valid: an
        // attacker who could sign for another moment could sign for this one.
        let creationSeconds = try ReceiptFields.creationSeconds(in: message.content.span)
        let path: [Certificate]
        do {
            path = try message.verify(roots: roots, at: creationSeconds)
        } catch {
            guard case .signer(let reason) = error else { throw .cmsInvalid("\(error)") }
            throw .certificateChain("\(reason)")
        }
        let isMarked = message.signer.extensionValue(oid: Self.signerMarkOID) != nil
        guard isMarked || path.last != sharedRoot else {
            throw .certificateChain("the signer is not for receipts")
        }
    }

    /// Parses the envelope, whose content is not verified yet.
    static func parse(_ receipt: [UInt8]) throws(ReceiptFailure) -> SignedData {
        guard receipt.count <= byteCountMax else {
            throw .malformed("\(receipt.count) bytes, more than \(byteCountMax)")
        }
        do {
            return try SignedData(ber: receipt)
        } catch {
            throw .cmsInvalid("\(error)")
        }
    }

    static func checkApp(_ fields: ReceiptFields, appID: String) throws(ReceiptFailure) {
        guard fields.appID == appID else { throw .appMismatch }
    }

    static func checkKey(_ fields: ReceiptFields, keyID: KeyID) throws(ReceiptFailure) {
        guard KeyID(of: fields.publicKey) == keyID else { throw .keyMismatch }
    }

    static func checkEnvironment(
        _ fields: ReceiptFields, environment: AttestEnvironment
    ) throws(ReceiptFailure) {
        guard fields.environment == environment else { throw .environmentMismatch }
    }
}

/// A receipt that Apple signed. Only ``ReceiptVerifier`` makes one.
public struct VerifiedReceipt: Hashable, Sendable {
    public let fields: ReceiptFields

    fileprivate init(fields: ReceiptFields) { self.fields = fields }
}
