public import Bytes
import COpenSSL

/// An ECDSA signature on P-256 as its two numbers, the form of JSON Web Signatures (RFC 7518
/// section 3.4). Other formats use DER.
@safe
public struct P256Signature: Hashable, Sendable {
    public let r: Bytes32
    public let s: Bytes32

    public static let rawByteCount = 64

    public init(r: Bytes32, s: Bytes32) {
        self.r = r
        self.s = s
    }

    /// Parses a raw signature. Nil unless `raw` is r and s, each of 32 big-endian bytes.
    public init?(raw: Span<UInt8>) {
        guard raw.count == Self.rawByteCount, let r = Bytes32(raw.extracting(0..<32)),
            let s = Bytes32(raw.extracting(32..<64))
        else { return nil }
        self.init(r: r, s: s)
    }

    /// Parses a signature in DER. Nil unless `der` is exactly one signature, of numbers below
    /// 2^256.
    public init?(der: [UInt8]) {
        // Two numbers of 33 bytes at most have a length of one byte; nothing may follow.
        guard der.count >= 2, der.count == 2 + Int(der[1]) else { return nil }
        ErrorQueue.clear()
        defer { ErrorQueue.clear() }
        let signature = unsafe der.withUnsafeBufferPointer { der in
            var position = der.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &position, der.count)
        }
        guard let signature = unsafe signature else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        guard let r = unsafe Self.number(ECDSA_SIG_get0_r(signature)),
            let s = unsafe Self.number(ECDSA_SIG_get0_s(signature))
        else { return nil }
        self.init(r: r, s: s)
    }

    public var raw: [UInt8] { r.array + s.array }

    public func der() throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        guard let signature = unsafe ECDSA_SIG_new() else {
            throw .failed(ErrorQueue.drain("a signature's form"))
        }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe BN_bin2bn(self.r.array, 32, nil)
        let s = unsafe BN_bin2bn(self.s.array, 32, nil)
        // The signature takes ownership of both numbers, or of neither.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            throw .failed(ErrorQueue.drain("a signature's form"))
        }
        let byteCount = Int(unsafe i2d_ECDSA_SIG(signature, nil))
        guard byteCount > 0 else { throw .failed(ErrorQueue.drain("a signature's form")) }
        var der = [UInt8](repeating: 0, count: byteCount)
        let writtenCount = unsafe der.withUnsafeMutableBufferPointer { der in
            var position = der.baseAddress
            return unsafe i2d_ECDSA_SIG(signature, &position)
        }
        guard writtenCount == byteCount else {
            throw .failed(ErrorQueue.drain("a signature's form"))
        }
        return der
    }

    /// The number in 32 bytes, or nil if it is negative or longer.
    private static func number(_ number: OpaquePointer?) -> Bytes32? {
        guard let number = unsafe number, unsafe BN_is_negative(number) == 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard unsafe BN_bn2binpad(number, &bytes, 32) == 32 else { return nil }
        return Bytes32(bytes)
    }
}
