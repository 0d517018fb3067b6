import COpenSSL

extension SignedData {
    /// The encoding of a message. Apple's receipts are BER with pieces of 1000 bytes, and a few are
    /// DER.
    public enum Encoding: Sendable {
        case der
        /// Indefinite lengths, with the content cut into pieces.
        case indefinite(pieceByteCount: Int)
    }

    /// Makes a message over `content`, signed with ECDSA-SHA256 and without signed attributes, like
    /// Apple's; for simulated devices and tests. `certificates` are added to the signer's own.
    public static func sign(
        _ content: [UInt8], signer: Certificate, key: ECPrivateKey, certificates: [Certificate],
        encoding: Encoding = .indefinite(pieceByteCount: 1000)
    ) throws(CryptoError) -> [UInt8] {
        ErrorQueue.clear()
        let flags = UInt32(CMS_BINARY | CMS_NOATTR | CMS_PARTIAL | CMS_STREAM)
        guard
            let others = unsafe Owned(
                sallyport_certificates_new(), freedBy: sallyport_certificates_free)
        else { throw .failed(ErrorQueue.drain("CMS certificates")) }
        for certificate in certificates {
            guard unsafe sallyport_certificates_append(others.pointer, certificate.handle) == 1
            else { throw .failed(ErrorQueue.drain("CMS certificates")) }
        }
        guard
            let message = unsafe Owned(
                CMS_sign(nil, nil, others.pointer, nil, flags), freedBy: CMS_ContentInfo_free),
            unsafe CMS_add1_signer(
                message.pointer, signer.handle, key.handle, EVP_sha256(), flags) != nil
        else { throw .failed(ErrorQueue.drain("CMS signing")) }
        switch encoding {
        case .der: return try unsafe der(message.pointer, content, flags)
        case .indefinite(let pieceByteCount):
            return try unsafe indefinite(message.pointer, content, max(1, pieceByteCount))
        }
    }

    private static func der(
        _ message: OpaquePointer, _ content: [UInt8], _ flags: UInt32
    ) throws(CryptoError) -> [UInt8] {
        let input = try MemoryBIO.reading(content)
        guard unsafe CMS_final(message, input.handle, nil, flags) == 1 else {
            throw .failed(ErrorQueue.drain("CMS signing"))
        }
        guard
            let der = unsafe EncodedBytes.taken(from: {
                unsafe Int(i2d_CMS_ContentInfo(message, $0))
            })
        else { throw .failed(ErrorQueue.drain("encoding CMS")) }
        return der
    }

    /// The content passes through a filter that writes each piece as an OCTET STRING of its own
    /// and, when flushed, the signature.
    private static func indefinite(
        _ message: OpaquePointer, _ content: [UInt8], _ pieceByteCount: Int
    ) throws(CryptoError) -> [UInt8] {
        let output = try MemoryBIO()
        guard let filter = unsafe BIO_new_CMS(output.handle, message) else {
            throw .failed(ErrorQueue.drain("CMS signing"))
        }
        defer { unsafe freeFilters(from: filter, to: output.handle) }
        for start in stride(from: 0, to: content.count, by: pieceByteCount) {
            let piece = Array(content[start..<min(start + pieceByteCount, content.count)])
            guard unsafe BIO_write(filter, piece, Int32(piece.count)) == piece.count else {
                throw .failed(ErrorQueue.drain("CMS signing"))
            }
        }
        guard unsafe sallyport_bio_flush(filter) == 1 else {
            throw .failed(ErrorQueue.drain("CMS signing"))
        }
        return output.contents
    }

    /// Frees the filters before the sink, which has another owner.
    private static func freeFilters(from first: OpaquePointer, to sink: OpaquePointer) {
        var next: OpaquePointer? = unsafe first
        while let filter = unsafe next, unsafe filter != sink {
            unsafe next = BIO_pop(filter)
            unsafe BIO_free(filter)
        }
    }
}
