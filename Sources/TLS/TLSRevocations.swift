import COpenSSL
import Crypto

/// The certificate revocation lists of authorities (RFC 5280 section 5).
///
/// Nothing changes them after `init`.
@safe
public final class TLSRevocations: @unchecked Sendable {
    /// The lists as PEM text, which the authorities parse again into their own store.
    let pem: [UInt8]
    /// The end of the list that ends first, in seconds since 1970. After it, the list is not valid
    /// any more, and the certificates of its authority are refused.
    public var nextUpdate: Int64 { ends[0] }
    /// The end of each list, in order.
    private let ends: [Int64]
    /// The authorities that issued the lists, in DER.
    private let issuers: [[UInt8]]

    /// Parses the lists of a PEM text, at least one; other blocks are ignored.
    public init(pem: [UInt8]) throws(TLSError) {
        var ends: [Int64] = []
        var issuers: [[UInt8]] = []
        try unsafe Self.read(pem) { list throws(TLSError) in
            // By RFC 5280 section 5.1.2.5 it must be there. Without it a list would be good
            // forever.
            guard let next = unsafe X509Fields.seconds(X509_CRL_get0_nextUpdate(list)) else {
                throw TLSError("a revocation list does not say until when it holds")
            }
            ends.append(next)
            issuers.append(try unsafe Self.der(of: X509_CRL_get_issuer(list)))
        }
        guard !issuers.isEmpty else { throw TLSError("holds no PEM revocation list") }
        self.pem = pem
        self.ends = ends.sorted()
        self.issuers = issuers
    }

    /// True if a list has expired by this machine's clock.
    public var isExpired: Bool { Int64(time(nil)) > nextUpdate }

    /// The end of the first list that ends after `now`; nil if all have ended.
    func firstEnd(after now: Int64) -> Int64? { ends.first { $0 > now } }

    /// True if there is a list of the authority with this certificate.
    func cover(_ authority: OpaquePointer?) -> Bool {
        guard let name = try? unsafe Self.der(of: X509_get_subject_name(authority)) else {
            return false
        }
        return issuers.contains(name)
    }

    /// Has `store` refuse revoked certificates, and all certificates of an authority without a
    /// valid list, at every place of the chain.
    func use(in store: OpaquePointer) throws(TLSError) {
        try unsafe Self.read(pem) { list throws(TLSError) in
            guard unsafe X509_STORE_add_crl(store, list) == 1 else {
                throw TLSError(ErrorQueue.drain("OpenSSL does not accept a revocation list"))
            }
        }
        unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
    }

    private static func read(
        _ pem: [UInt8], _ body: (OpaquePointer) throws(TLSError) -> Void
    ) throws(TLSError) {
        ErrorQueue.clear()
        guard
            let bio = unsafe Owned(
                BIO_new_mem_buf(pem, Int32(pem.count)), freedBy: { unsafe BIO_free_all($0) })
        else { throw TLSError(ErrorQueue.drain("out of memory")) }
        var count = 0
        while let list = unsafe Owned(
            PEM_read_bio_X509_CRL(bio.pointer, nil, { _, _, _, _ in -1 }, nil),
            freedBy: X509_CRL_free)
        {
            count += 1
            guard count <= countMax else { throw TLSError("more than \(countMax) lists") }
            try unsafe body(list.pointer)
        }
        guard ErrorQueue.isEndOfPEM() else {
            throw TLSError(ErrorQueue.drain("not PEM revocation lists"))
        }
    }

    private static func der(of name: OpaquePointer?) throws(TLSError) -> [UInt8] {
        guard let der = unsafe EncodedBytes.taken(from: { unsafe Int(i2d_X509_NAME(name, $0)) })
        else { throw TLSError(ErrorQueue.drain("encoding a name")) }
        return der
    }

    /// The most lists: one for each authority of a file, and some of former keys.
    private static let countMax = 1024
}
