public import Attestation
import Bytes
import Crypto
import JSON

extension Explanation {
    /// Takes an assertion through the steps of ``AssertionVerifier``. Only the gateway's stores
    /// know whether its counter and its challenge are still unused.
    public static func assertion(
        _ object: [UInt8], expecting expected: Expectations
    ) -> Explanation {
        var explanation = Explanation("assertion")
        explanation.explainAssertion(object, expected)
        return explanation
    }

    private mutating func explainAssertion(_ object: [UInt8], _ expected: Expectations) {
        add("byte_count", Int64(object.count))
        do {
            let assertion = try UnverifiedAssertion(parsing: object.span)
            pass("decode", "an assertion object in CBOR")
            add("signature_byte_count", Int64(assertion.signature.count))
            checkKeyID(expected)
            checkSignature(assertion, expected)
            let data = readAuthenticatorData(assertion)
            checkApp(data, expected)
        } catch {
            return fail("decode", code: error.code, error.description)
        }
        if expected.environment != nil {
            skip("environment", "an assertion does not name one; the key's attestation does")
        }
        skip("counter", "needs the counters that the gateway has accepted")
        explainClientData(expected)
    }

    private mutating func checkKeyID(_ expected: Expectations) {
        guard let publicKey = expected.publicKey else { return }
        let keyID = KeyID(of: publicKey)
        add("key_id", keyID.base64)
        add("public_key", Base64.encode(publicKey.x963))
        guard let expectedID = expected.keyID else {
            return skip("key_id", "no key id was given to compare")
        }
        do {
            try AttestationChecks.keyID(expectedID, of: publicKey)
            pass("key_id", "the key id is the SHA-256 of the public key")
        } catch {
            fail("key_id", code: error.code, "the key id is not the SHA-256 of the public key")
        }
    }

    private mutating func checkSignature(
        _ assertion: borrowing UnverifiedAssertion, _ expected: Expectations
    ) {
        guard let suffix = expected.nonceSuffix else {
            return lack(
                "signature", code: "client_data_required",
                "neither client data nor its hash was given")
        }
        let nonce = Nonce.make(assertion.authenticatorData, suffix)
        add("computed_nonce", Hex.encode(nonce.array))
        guard let publicKey = expected.publicKey else {
            return lack("signature", code: "public_key_required", "no public key was given")
        }
        let authenticatorData = assertion.authenticatorData.array
        let signature = assertion.signature.array
        do {
            var verifier = try AssertionVerifier()
            guard !verifier.isSigned(signature.span, nonce: nonce, publicKey: publicKey) else {
                return pass(
                    "signature", "the key signed SHA-256(authenticator data || client data hash)")
            }
            let variant = expected.clientData.flatMap { clientData in
                ClientDataVariant.name(of: clientData) { suffix in
                    let nonce = Nonce.make(authenticatorData.span, suffix)
                    return verifier.isSigned(signature.span, nonce: nonce, publicKey: publicKey)
                }
            }
            let failure = AssertionFailure.signatureInvalid
            let hint = variant.map { "; \($0)" } ?? ""
            fail("signature", code: failure.code, failure.description + hint)
        } catch {
            fail("signature", code: "verifier_unavailable", "\(error)")
        }
    }

    private mutating func readAuthenticatorData(
        _ assertion: borrowing UnverifiedAssertion
    ) -> AuthenticatorData? {
        do {
            let data = try AssertionVerifier.read(assertion.authenticatorData)
            pass(
                "authenticator_data", "\(assertion.authenticatorData.count) bytes, well formed")
            addAuthenticatorData(data)
            return data
        } catch {
            fail("authenticator_data", code: error.code, error.description)
            return nil
        }
    }

    private mutating func checkApp(_ data: AuthenticatorData?, _ expected: Expectations) {
        guard let data else { return skip("app", "the authenticator data is malformed") }
        guard let appID = expected.appID else {
            return skip("app", "no app id was given to compare")
        }
        let app = AppIdentity(id: appID, environments: [])
        do {
            try AssertionVerifier.checkApp(data, rpIDHash: app.rpIDHash)
            pass("app", "the relying party id hash is the app's")
            add("app_id", appID)
        } catch {
            fail("app", code: error.code, error.description)
        }
    }

    /// Shows client data of the `header` shape; data of any other shape is just as valid.
    private mutating func explainClientData(_ expected: Expectations) {
        guard let clientData = expected.clientData else {
            return skip("challenge", "no client data was given")
        }
        do {
            let request = try RequestClientData(
                parsing: clientData.span, byteCountMax: clientData.count)
            add("client_data.method", String(decoding: request.method.array, as: UTF8.self))
            add("client_data.path", String(decoding: request.path.array, as: UTF8.self))
            if let query = request.query {
                add("client_data.query", String(decoding: query.array, as: UTF8.self))
            }
            add("client_data.body_sha256", Base64.encode(request.bodyDigest.array))
            add("client_data.key_id", request.keyID?.base64)
            skip("challenge", "needs the gateway that issued it")
        } catch {
            skip("challenge", "the client data is not of the header shape: \(error)")
        }
    }
}
