public import Attestation
import Bytes
import Crypto

extension Explanation {
    /// Takes a receipt through the steps of ``ReceiptVerifier``.
    public static func receipt(
        _ object: [UInt8], expecting expected: Expectations
    ) -> Explanation {
        var explanation = Explanation("receipt")
        explanation.explainReceipt(object, expected)
        return explanation
    }

    private mutating func explainReceipt(_ object: [UInt8], _ expected: Expectations) {
        add("byte_count", Int64(object.count))
        let message: SignedData
        do {
            message = try ReceiptVerifier.parse(object)
            pass("decode", "CMS with one signer")
        } catch {
            return fail("decode", code: error.code, error.description)
        }
        checkSignature(message, expected)
        do {
            let fields = try ReceiptFields(content: message.content.span)
            pass("fields", "\(fields.fieldTypes.count) fields")
            addFields(fields)
            compare(fields, expected)
            explainLifetime(fields, expected)
        } catch {
            fail("fields", code: error.code, error.description)
        }
    }

    private mutating func checkSignature(_ message: SignedData, _ expected: Expectations) {
        let roots = expected.roots.isEmpty ? [AppleRoots.appleRootG3] : expected.roots
        do {
            try ReceiptVerifier(roots: roots).verifySignature(of: message)
            pass("signature", "signed under a trusted root, judged at the receipt's creation")
        } catch {
            fail("signature", code: error.code, error.description)
        }
        add("signer_subject", message.signer.subject)
        add("signer_not_before", RFC3339.text(message.signer.notBefore))
        add("signer_not_after", RFC3339.text(message.signer.notAfter))
    }

    private mutating func addFields(_ fields: ReceiptFields) {
        add("type", fields.kind.rawValue)
        add("app_id", fields.appID)
        add("key_id", KeyID(of: fields.publicKey).base64)
        add("public_key", Base64.encode(fields.publicKey.x963))
        add("environment", fields.environment?.rawValue)
        add("risk_metric", fields.riskMetric.map { Int64($0) })
        add("creation_time", fields.createdAt.text)
        add("not_before", fields.notBefore?.text)
        add("expiration", fields.expiresAt?.text)
        add("client_hash", fields.clientHash.map { Base64.encode($0) })
        add("token_byte_count", fields.token.map { Int64($0.count) })
        add("field_types", fields.fieldTypes.map { "\($0)" }.joined(separator: " "))
    }

    private mutating func compare(_ fields: ReceiptFields, _ expected: Expectations) {
        check("app", "the receipt is for the app", given: expected.appID) {
            (appID) throws(ReceiptFailure) in try ReceiptVerifier.checkApp(fields, appID: appID)
        }
        check("key", "the receipt is for the key", given: expected.publicKey) {
            (publicKey) throws(ReceiptFailure) in
            try ReceiptVerifier.checkKey(fields, keyID: KeyID(of: publicKey))
        }
        check("key_id", "the receipt is for the key of this id", given: expected.keyID) {
            (keyID) throws(ReceiptFailure) in try ReceiptVerifier.checkKey(fields, keyID: keyID)
        }
        check("environment", "the receipt is of the environment", given: expected.environment) {
            (environment) throws(ReceiptFailure) in
            try ReceiptVerifier.checkEnvironment(fields, environment: environment)
        }
    }

    private mutating func check<Expected>(
        _ name: String, _ claim: String, given expected: Expected?,
        _ body: (Expected) throws(ReceiptFailure) -> Void
    ) {
        guard let expected else { return skip(name, "no value was given to compare") }
        do throws(ReceiptFailure) {
            try body(expected)
            pass(name, claim)
        } catch {
            fail(name, code: error.code, error.description)
        }
    }

    /// Shows the lifetime. An expired receipt is still genuine; only Apple's server does not take
    /// it any more.
    private mutating func explainLifetime(_ fields: ReceiptFields, _ expected: Expectations) {
        guard let expiresAt = fields.expiresAt else {
            return skip("lifetime", "the receipt names no expiration")
        }
        guard expected.seconds <= expiresAt.seconds else {
            return skip("lifetime", "expired at \(expiresAt.text): of no use to Apple's server")
        }
        pass("lifetime", "not expired at \(RFC3339.text(expected.seconds))")
    }
}
