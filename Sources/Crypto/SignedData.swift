import Bytes
import COpenSSL

/// A CMS message (RFC 5652) that carries its content and one signature: Apple's receipts.
///
/// BER or DER; the content may come in pieces. `init` parses the message and trusts nothing, so
/// that a receipt's creation time can be read from ``content`` before
/// ``verify(roots:at:skewSeconds:)`` is called with that time.
public struct SignedData: Sendable {
    /// The content, with its pieces joined.
    public let content: [UInt8]
    public let signer: Certificate
    /// All certificates that the message carries, including the signer's.
    public let certificates: [Certificate]
    private let ber: [UInt8]

    /// The most bytes of a message. Apple's receipts are under 8 KiB.
    public static let byteCountMax = 64 * 1024
    /// The most certificates. Apple's receipts carry three: the signer's, its issuer's and the
    /// root.
    public static let certificateCountMax = CertificateChain.intermediateCountMax + 1

    public init(ber: [UInt8]) throws(SignedDataError) {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let message = try Self.decode(ber)
        content = try unsafe Self.content(of: message.pointer)
        certificates = try unsafe Self.certificates(of: message.pointer)
        signer = try unsafe Self.signer(of: message.pointer, among: certificates)
        self.ber = ber
    }

    /// Checks the signature, then the signer's path to one of `roots` at `seconds` since 1970, by
    /// the certificates that the message carries. Returns that path, the signer first.
    @discardableResult
    public func verify(
        roots: [Certificate], at seconds: Int64, skewSeconds: Int64 = 0
    ) throws(SignedDataError) -> [Certificate] {
        try checkSignature()
        do {
            return try CertificateChain.verify(
                leaf: signer, intermediates: certificates.filter { $0 != signer }, roots: roots,
                at: seconds, skewSeconds: skewSeconds)
        } catch {
            throw .signer(error)
        }
    }

    /// Parses and verifies in one step.
    public static func verify(
        ber: [UInt8], roots: [Certificate], at seconds: Int64, skewSeconds: Int64 = 0
    ) throws(SignedDataError) -> (content: [UInt8], signer: Certificate) {
        let message = try SignedData(ber: ber)
        try message.verify(roots: roots, at: seconds, skewSeconds: skewSeconds)
        return (message.content, message.signer)
    }

    private func checkSignature() throws(SignedDataError) {
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        // Verifying changes OpenSSL's object; a fresh object keeps this value immutable.
        let message = try Self.decode(ber)
        try unsafe Self.checkAlgorithms(of: message.pointer)
        guard
            let signers = unsafe Owned(
                sallyport_certificates_new(), freedBy: sallyport_certificates_free),
            unsafe sallyport_certificates_append(signers.pointer, signer.handle) == 1
        else { throw .malformed(ErrorQueue.drain("signer")) }
        // CertificateChain checks the path, because OpenSSL would ask for a purpose that Apple's
        // signers lack.
        let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY | CMS_NOINTERN | CMS_BINARY)
        guard unsafe CMS_verify(message.pointer, signers.pointer, nil, nil, nil, flags) == 1 else {
            throw .badSignature
        }
    }

    private static func decode(_ ber: [UInt8]) throws(SignedDataError) -> Owned {
        guard ber.count <= byteCountMax else { throw .malformed("\(ber.count) bytes") }
        var readCount = 0
        let pointer = unsafe ber.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let pointer = unsafe d2i_CMS_ContentInfo(nil, &position, bytes.count)
            if let start = bytes.baseAddress, let position = unsafe position {
                readCount = unsafe position - start
            }
            return unsafe pointer
        }
        guard let message = unsafe Owned(pointer, freedBy: CMS_ContentInfo_free) else {
            throw .malformed(ErrorQueue.drain("encoding"))
        }
        guard readCount == ber.count else { throw .malformed("bytes behind it") }
        guard unsafe OBJ_obj2nid(CMS_get0_type(message.pointer)) == NID_pkcs7_signed else {
            throw .malformed("not SignedData")
        }
        return message
    }

    private static func content(of message: OpaquePointer) throws(SignedDataError) -> [UInt8] {
        guard unsafe OBJ_obj2nid(CMS_get0_eContentType(message)) == NID_pkcs7_data else {
            throw .malformed("content is not of type data")
        }
        guard let slot = unsafe CMS_get0_content(message), let string = unsafe slot.pointee else {
            throw .malformed("no content")
        }
        return unsafe X509Fields.bytes(of: string)
    }

    private static func certificates(
        of message: OpaquePointer
    ) throws(SignedDataError) -> [Certificate] {
        guard
            let stack = unsafe Owned(
                CMS_get1_certs(message), freedBy: sallyport_certificates_free)
        else { throw .malformed("no certificates") }
        let count = unsafe sallyport_certificates_count(stack.pointer)
        guard count <= certificateCountMax else { throw .malformed("\(count) certificates") }
        var certificates: [Certificate] = []
        for index in 0..<count {
            guard let pointer = unsafe sallyport_certificates_at(stack.pointer, index) else {
                continue
            }
            do {
                certificates.append(try Certificate(der: unsafe Certificate.encode(pointer)))
            } catch {
                throw .malformed(error.description)
            }
        }
        return certificates
    }

    private static func signer(
        of message: OpaquePointer, among certificates: [Certificate]
    ) throws(SignedDataError) -> Certificate {
        guard unsafe sallyport_signers_count(message) == 1,
            let signer = unsafe sallyport_signer_at(message, 0)
        else { throw .malformed("not exactly one signer") }
        for certificate in certificates
        where unsafe CMS_SignerInfo_cert_cmp(signer, certificate.handle) == 0 {
            return certificate
        }
        throw .malformed("the signer's certificate is missing")
    }

    /// SHA-256, SHA-384, SHA-512 (RFC 5754 section 2) and the ECDSA algorithm that goes with each
    /// (RFC 5754 section 3.3).
    private static let algorithms = [
        "2.16.840.1.101.3.4.2.1": "1.2.840.10045.4.3.2",
        "2.16.840.1.101.3.4.2.2": "1.2.840.10045.4.3.3",
        "2.16.840.1.101.3.4.2.3": "1.2.840.10045.4.3.4",
    ]

    private static func checkAlgorithms(of message: OpaquePointer) throws(SignedDataError) {
        guard let signer = unsafe sallyport_signer_at(message, 0) else {
            throw .malformed("no signer")
        }
        var digest: UnsafeMutablePointer<X509_ALGOR>?
        var signature: UnsafeMutablePointer<X509_ALGOR>?
        unsafe CMS_SignerInfo_get0_algs(signer, nil, nil, &digest, &signature)
        guard let digestID = try? unsafe X509Fields.text(ofAlgorithm: digest),
            let signatureID = try? unsafe X509Fields.text(ofAlgorithm: signature),
            algorithms[digestID] == signatureID
        else { throw .weakAlgorithm }
    }
}
