public import Bytes
public import Crypto

/// Verifies assertions: the part of App Attest that runs on every request.
///
/// Owns one reusable verification context; nothing is allocated for an assertion without unknown
/// extensions. One thread at a time.
public struct AssertionVerifier: ~Copyable {
    private var signatures: P256Verifier

    /// Throws only if OpenSSL cannot make a verification context.
    public init() throws(CryptoError) { signatures = try P256Verifier() }

    /// Verifies `object` in the order of Apple's "Validating apps that connect to your server".
    ///
    /// `clientDataHash` is the SHA-256 of the client data exactly as received (step 1). Two more
    /// steps are the caller's: to advance the counter with what is returned (step 5), and to find
    /// the challenge inside the client data to be its own, unexpired and unspent (step 6).
    public mutating func verify(
        _ object: Span<UInt8>, clientDataHash: Bytes32, publicKey: P256PublicKey, rpIDHash: Bytes32
    ) throws(AssertionFailure) -> VerifiedAssertion {
        let assertion = try UnverifiedAssertion(parsing: object)
        // Step 2.
        let nonce = SHA256.hash(assertion.authenticatorData, clientDataHash)
        return try verify(assertion, nonce: nonce, publicKey: publicKey, rpIDHash: rpIDHash)
    }

    /// Verifies an assertion over a client data hash of any length. Some apps pass the client data
    /// itself, as both of Apple's published samples do.
    public mutating func verify(
        _ object: Span<UInt8>, clientDataHashBytes: [UInt8], publicKey: P256PublicKey,
        rpIDHash: Bytes32
    ) throws(AssertionFailure) -> VerifiedAssertion {
        let assertion = try UnverifiedAssertion(parsing: object)
        let nonce = Nonce.make(assertion.authenticatorData, clientDataHashBytes)
        return try verify(assertion, nonce: nonce, publicKey: publicKey, rpIDHash: rpIDHash)
    }

    private mutating func verify(
        _ assertion: borrowing UnverifiedAssertion, nonce: Bytes32, publicKey: P256PublicKey,
        rpIDHash: Bytes32
    ) throws(AssertionFailure) -> VerifiedAssertion {
        try checkSignature(assertion, nonce: nonce, publicKey: publicKey)
        return try Self.signed(assertion.authenticatorData, rpIDHash: rpIDHash)
    }

    /// Returns the content of an assertion whose signature over `authenticatorData` is valid, once
    /// its app is known to be right.
    static func signed(
        _ authenticatorData: Span<UInt8>, rpIDHash: Bytes32
    ) throws(AssertionFailure) -> VerifiedAssertion {
        let data = try read(authenticatorData)
        try checkApp(data, rpIDHash: rpIDHash)
        return VerifiedAssertion(data)
    }

    /// Step 3.
    private mutating func checkSignature(
        _ assertion: borrowing UnverifiedAssertion, nonce: Bytes32, publicKey: P256PublicKey
    ) throws(AssertionFailure) {
        guard isSigned(assertion.signature, nonce: nonce, publicKey: publicKey) else {
            throw .signatureInvalid
        }
    }

    /// True if the key signed the nonce. The nonce is the message, not the digest: ECDSA hashes it
    /// once more.
    mutating func isSigned(
        _ signature: Span<UInt8>, nonce: Bytes32, publicKey: P256PublicKey
    ) -> Bool {
        signatures.isValid(
            signature: signature, digest: Self.signedDigest(of: nonce), key: publicKey)
    }

    /// The digest that is signed for a nonce.
    static func signedDigest(of nonce: Bytes32) -> Bytes32 {
        let message = InlineArray<32, UInt8> { nonce[$0] }
        return SHA256.hash(message.span)
    }

    /// Reads the signed bytes, once they are known to be the device's.
    static func read(
        _ authenticatorData: Span<UInt8>
    ) throws(AssertionFailure) -> AuthenticatorData {
        do {
            return try AuthenticatorData(assertion: authenticatorData)
        } catch {
            throw .malformed(error)
        }
    }

    /// Step 4.
    static func checkApp(
        _ data: AuthenticatorData, rpIDHash: Bytes32
    ) throws(AssertionFailure) {
        guard data.rpIDHash == rpIDHash else { throw .appMismatch }
    }
}

/// An assertion whose signature and app are right. Only ``AssertionVerifier`` makes one, so code
/// that asks for it, such as the step that advances the counter, cannot run before the
/// verification.
public struct VerifiedAssertion: Hashable, Sendable {
    /// The assertion's counter, unsigned; 1 to 5 in the first assertion seen of a key. The replay
    /// policy decides whether it was used before.
    public let counter: UInt32
    /// The app, by the SHA-256 of its App ID.
    public let rpIDHash: Bytes32
    /// The report of iOS 27 and macOS 27 about the app, or nil from earlier systems.
    public let extensions: ExtensionData?

    fileprivate init(_ data: AuthenticatorData) {
        counter = data.counter
        rpIDHash = data.rpIDHash
        extensions = data.extensions
    }
}
