import COpenSSL

extension Certificate {
    /// The most certificates that a PEM file of roots may hold.
    public static let pemCertificateCountMax = 64

    /// Parses the certificates of a PEM file (RFC 7468), at least one. Text between them is
    /// ignored, and any other kind of block is refused.
    public static func parsePEM(_ text: [UInt8]) throws(CryptoError) -> [Certificate] {
        ErrorQueue.clear()
        guard text.count <= pemCertificateCountMax * 2 * byteCountMax else {
            throw .malformed("PEM: \(text.count) bytes")
        }
        let bio = try MemoryBIO.reading(text)
        var certificates: [Certificate] = []
        while let block = try nextBlock(bio) {
            guard block.name == "CERTIFICATE" else {
                throw .malformed("PEM: a block is not a certificate")
            }
            guard certificates.count < pemCertificateCountMax else {
                throw .malformed("PEM: more than \(pemCertificateCountMax) certificates")
            }
            certificates.append(try Certificate(der: block.contents))
        }
        guard !certificates.isEmpty else { throw .malformed("PEM: no certificate") }
        return certificates
    }

    /// The next block; nil if only text is left.
    private static func nextBlock(
        _ bio: borrowing MemoryBIO
    ) throws(CryptoError) -> (name: String, contents: [UInt8])? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var contents: UnsafeMutablePointer<UInt8>?
        var byteCount = 0
        guard unsafe PEM_read_bio(bio.handle, &name, &header, &contents, &byteCount) == 1 else {
            if ErrorQueue.isEndOfPEM() { return nil }
            throw .malformed(ErrorQueue.drain("PEM"))
        }
        defer {
            unsafe CRYPTO_free(name, #file, #line)
            unsafe CRYPTO_free(header, #file, #line)
            unsafe CRYPTO_free(contents, #file, #line)
        }
        guard let name = unsafe name, let contents = unsafe contents else { return nil }
        return unsafe (
            String(cString: name),
            Array(UnsafeBufferPointer(start: contents, count: byteCount))
        )
    }

    public func pem() throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        let bio = try MemoryBIO()
        guard unsafe PEM_write_bio_X509(bio.handle, handle) == 1 else {
            throw .failed(ErrorQueue.drain("writing a certificate"))
        }
        return bio.contents
    }
}
