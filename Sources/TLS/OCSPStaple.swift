import COpenSSL
import Crypto

/// An OCSP response (RFC 6960) to be stapled to handshakes: the responder's word that a
/// certificate is not revoked, so that clients need not ask.
public struct OCSPStaple: Hashable, Sendable {
    public let der: [UInt8]
    /// The time after which it must not be sent, in seconds since 1970; nil if it names no end.
    public let nextUpdate: Int64?

    /// The serial number of the certificate that the response is about, big-endian.
    private let serialNumber: [UInt8]

    /// Parses a successful response about one certificate. Clients check its signature.
    public init(der: [UInt8]) throws(TLSError) {
        ErrorQueue.clear()
        let decoded = unsafe der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return unsafe d2i_OCSP_RESPONSE(nil, &position, bytes.count)
        }
        guard let response = unsafe Owned(decoded, freedBy: OCSP_RESPONSE_free) else {
            throw TLSError(ErrorQueue.drain("not an OCSP response in DER"))
        }
        guard unsafe OCSP_response_status(response.pointer) == OCSP_RESPONSE_STATUS_SUCCESSFUL
        else { throw TLSError("the OCSP responder refused to answer") }
        guard
            let basic = unsafe Owned(
                OCSP_response_get1_basic(response.pointer), freedBy: OCSP_BASICRESP_free),
            let single = unsafe OCSP_resp_get0(basic.pointer, 0)
        else { throw TLSError(ErrorQueue.drain("holds no OCSP answer")) }
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        let status = unsafe OCSP_single_get0_status(single, nil, nil, nil, &next)
        guard status == V_OCSP_CERTSTATUS_GOOD else {
            throw TLSError("says that the certificate is revoked or unknown")
        }
        var serial: UnsafeMutablePointer<ASN1_INTEGER>?
        unsafe OCSP_id_get0_info(nil, nil, nil, &serial, OCSP_SINGLERESP_get0_id(single))
        serialNumber = unsafe TLSIdentity.bytes(of: serial)
        let nextUpdate = unsafe X509Fields.seconds(next)
        guard unsafe next == nil || nextUpdate != nil else {
            throw TLSError("its nextUpdate cannot be read")
        }
        self.nextUpdate = nextUpdate
        self.der = der
    }

    /// True if the staple is about the certificate of `identity`.
    public func isAbout(_ identity: TLSIdentity) -> Bool { serialNumber == identity.serialNumber }

    /// True if the response has expired by this machine's clock.
    public var isExpired: Bool { nextUpdate.map { Int64(time(nil)) > $0 } ?? false }
}
