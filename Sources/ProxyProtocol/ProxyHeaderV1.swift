import Bytes

/// `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443` and CRLF: one line of US-ASCII, one space between
/// its words.
enum ProxyHeaderV1 {
    /// The longest line by the specification, with CRLF.
    static let byteCountMax = 107

    private static let signature = Array("PROXY ".utf8)

    static func parse(_ bytes: Span<UInt8>) -> ProxyHeader.Outcome {
        let prefixCount = min(bytes.count, signature.count)
        for index in 0..<prefixCount where bytes[index] != signature[index] {
            return .refused(.signature)
        }
        for index in prefixCount..<min(bytes.count, byteCountMax) {
            switch bytes[index] {
            case 0x0A:
                guard bytes[index - 1] == 0x0D else { return .refused(.line) }
                let words = bytes.extracting(signature.count..<index - 1).array
                do throws(ProxyHeaderFault) {
                    let header = ProxyHeader(source: try source(words))
                    return .complete(header, byteCount: index + 1)
                } catch {
                    return .refused(error)
                }
            case 0x0D, 0x20...0x7E:
                // A CR may only come before LF.
                guard bytes[index - 1] != 0x0D else { return .refused(.line) }
            default: return .refused(.line)
            }
        }
        guard bytes.count < byteCountMax else { return .refused(.lineTooLong) }
        return .incomplete(ownByteCount: bytes.count)
    }

    /// Parses the line between `PROXY ` and CRLF.
    private static func source(_ words: [UInt8]) throws(ProxyHeaderFault) -> ProxyHeader.Source {
        let parts = words.split(separator: 0x20, omittingEmptySubsequences: false)
        let byteCount: Int
        switch String(decoding: parts[0], as: UTF8.self) {
        // "The receiver must ignore anything presented before the CRLF is found".
        case "UNKNOWN": return .unstated
        case "TCP4": byteCount = 4
        case "TCP6": byteCount = 16
        default: throw .protocolName
        }
        guard parts.count == 5 else { throw .line }
        guard let source = IPAddress.bytes(parts[1]), source.count == byteCount,
            let destination = IPAddress.bytes(parts[2]), destination.count == byteCount
        else { throw .address }
        guard let sourcePort = port(parts[3]), port(parts[4]) != nil else { throw .port }
        return .unmapped(source, port: sourcePort)
    }

    /// Parses 0 to 65535 without leading zeros.
    private static func port(_ text: ArraySlice<UInt8>) -> UInt16? {
        guard (1...5).contains(text.count), text.count == 1 || text.first != 0x30 else {
            return nil
        }
        return ASCII.decimal(Array(text).span).flatMap { UInt16(exactly: $0) }
    }
}
