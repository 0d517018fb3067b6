public import Crypto

/// Verifies receipts, those that come inside attestations and those from Apple's server.
///
/// A receipt is CMS SignedData in BER, signed by a certificate that lives about a year and chains to
/// Apple Root CA - G3 (not to the App Attest root). Receipts are kept for months, so the chain is
/// judged at the moment at which the receipt says it was made.
public struct ReceiptVerifier: Sendable {
    private let roots: [Certificate]

    /// Real receipts have 4 to 6 KB.
    public static let byteCountMax = 16 * 1024

    /// `roots`: ``AppleRoots/appleRootG3`` and, for tests, others.
    public init(roots: [Certificate]) { self.roots = roots }

    /// Verifies signature, chain and fields, and that the receipt is for this app and key.
    ///
    /// What is nil is not compared: a gateway always gives app, key and environment.
    public func verify(
        _ receipt: [UInt8], appID: String?, publicKey: P256PublicKey?,
        environment: AttestEnvironment? = nil
    ) throws(ReceiptFailure) -> VerifiedReceipt {
        let (content, _) = try verifySignature(of: receipt)
        let fields = try ReceiptFields(content: content.span)
        if let appID { try Self.checkApp(fields, appID: appID) }
        if let publicKey { try Self.checkKey(fields, keyID: KeyID(of: publicKey)) }
        if let environment { try Self.checkEnvironment(fields, environment: environment) }
        return VerifiedReceipt(fields: fields)
    }

    /// The signed content and who signed it.
    func verifySignature(
        of receipt: [UInt8]
    ) throws(ReceiptFailure) -> (content: [UInt8], signer: Certificate) {
        let unverified = try Self.unverifiedContent(of: receipt)
        // The receipt itself says when it was made, and that decides which signers were valid: one
        // who could sign for another moment could sign for this one.
        let creationSeconds = try ReceiptFields.creationSeconds(in: unverified.span)
        do {
            return try SignedData.verify(ber: receipt, roots: roots, at: creationSeconds)
        } catch {
            switch error {
            case .chain(let reason): throw .certificateChain("\(reason)")
            default: throw .cmsInvalid("\(error)")
            }
        }
    }

    /// The content, to be believed only once the signature is verified.
    static func unverifiedContent(of receipt: [UInt8]) throws(ReceiptFailure) -> [UInt8] {
        guard receipt.count <= byteCountMax else {
            throw .malformed("\(receipt.count) bytes, more than \(byteCountMax)")
        }
        do {
            return try SignedData.unverifiedContent(ber: receipt)
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
