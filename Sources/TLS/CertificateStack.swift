import COpenSSL
import Crypto

/// Certificates that OpenSSL keeps in one of its stacks.
@safe
struct CertificateStack: ~Copyable {
    let pointer: OpaquePointer

    /// Parses the certificates of a PEM text, at least one; other blocks are ignored.
    init(pem: [UInt8]) throws(TLSError) {
        ErrorQueue.clear()
        guard let stack = unsafe sallyport_certificates_new() else {
            throw TLSError(ErrorQueue.drain("out of memory"))
        }
        do throws(TLSError) {
            try unsafe Self.read(pem, into: stack)
        } catch {
            unsafe sallyport_certificates_free(stack)
            throw error
        }
        unsafe pointer = stack
    }

    private static func read(_ pem: [UInt8], into stack: OpaquePointer) throws(TLSError) {
        guard
            let bio = unsafe Owned(
                BIO_new_mem_buf(pem, Int32(pem.count)), freedBy: { unsafe BIO_free_all($0) })
        else { throw TLSError(ErrorQueue.drain("out of memory")) }
        while let certificate = unsafe next(in: bio.pointer) {
            guard unsafe sallyport_certificates_count(stack) < countMax else {
                throw TLSError("more than \(countMax) certificates")
            }
            guard unsafe sallyport_certificates_append(stack, certificate.pointer) == 1 else {
                throw TLSError(ErrorQueue.drain("out of memory"))
            }
        }
        guard ErrorQueue.isEndOfPEM() else {
            throw TLSError(ErrorQueue.drain("not PEM certificates"))
        }
        guard unsafe sallyport_certificates_count(stack) > 0 else {
            throw TLSError("holds no PEM certificate")
        }
    }

    private static func next(in bio: OpaquePointer) -> Owned? {
        unsafe Owned(
            PEM_read_bio_X509(bio, nil, { _, _, _, _ in -1 }, nil), freedBy: X509_free)
    }

    deinit { unsafe sallyport_certificates_free(pointer) }

    var count: Int { Int(unsafe sallyport_certificates_count(pointer)) }

    /// The most certificates. The bundles of operating systems hold about 150.
    static let countMax = 1024
}
