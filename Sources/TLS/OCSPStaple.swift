import COpenSSL

/// An OCSP response (RFC 6960) to be stapled to handshakes: the responder's word that a
/// certificate is not revoked, so that clients need not ask.
public struct OCSPStaple: Hashable, Sendable {
    public let der: [UInt8]
    /// Seconds since 1970 after which it must not be sent; nil where it names no end.
    public let nextUpdate: Int64?

    /// Reads a successful response about one certificate; the signature is for clients to check.
    public init(der: [UInt8]) throws(TLSError) {
        TLSErrorQueue.clear()
        let decoded = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_OCSP_RESPONSE(nil, &position, bytes.count)
        }
        guard let response = unsafe TLSHandle(decoded, freedBy: OCSP_RESPONSE_free) else {
            throw TLSError(TLSErrorQueue.drain("not an OCSP response in DER"))
        }
        guard unsafe OCSP_response_status(response.pointer) == OCSP_RESPONSE_STATUS_SUCCESSFUL
        else { throw TLSError("the OCSP responder refused to answer") }
        guard
            let basic = unsafe TLSHandle(
                OCSP_response_get1_basic(response.pointer), freedBy: OCSP_BASICRESP_free),
            let single = unsafe OCSP_resp_get0(basic.pointer, 0)
        else { throw TLSError(TLSErrorQueue.drain("holds no OCSP answer")) }
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(single, nil, nil, nil, &next)
        guard status == V_OCSP_CERTSTATUS_GOOD else {
            throw TLSError("says that the certificate is revoked or unknown")
        }
        nextUpdate = try unsafe Self.seconds(next)
        self.der = der
    }

    /// By this machine's clock, now.
    public var isExpired: Bool { nextUpdate.map { Int64(time(nil)) > $0 } ?? false }

    private static func seconds(
        _ time: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    ) throws(TLSError) -> Int64? {
        guard let time = unsafe time else { return nil }
        guard let epoch = unsafe ASN1_TIME_set(nil, 0) else { throw TLSError("out of memory") }
        defer { unsafe ASN1_TIME_free(epoch) }
        var days: Int32 = 0
        var seconds: Int32 = 0
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
            throw TLSError("its nextUpdate cannot be read")
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}
