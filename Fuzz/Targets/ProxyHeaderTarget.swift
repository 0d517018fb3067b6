import Bytes
import ProxyProtocol

extension FuzzTarget {
    /// A PROXY header is judged alike whatever follows it, and no beginning of it is more than one.
    static let proxyHeader = FuzzTarget("proxy-header", byteCountMax: 512) { bytes in
        let whole = ProxyHeader.parse(bytes.span)
        switch whole {
        case .incomplete(let ownByteCount):
            try FuzzFinding.require(ownByteCount <= bytes.count, "more is its own than came")
        case .complete(_, let byteCount):
            try FuzzFinding.require(
                byteCount <= bytes.count && byteCount <= ProxyHeader.byteCountMax, "too long")
            for end in 0..<byteCount {
                let start = Array(bytes[..<end])
                guard case .incomplete = ProxyHeader.parse(start.span) else {
                    throw FuzzFinding("its first \(end) bytes pass for a header, or for none")
                }
            }
            let header = Array(bytes[..<byteCount])
            for rest in [[], Array("GET / HTTP/1.1\r\n".utf8), [0], header] {
                let longer = header + rest
                try FuzzFinding.requireEqual(
                    ProxyHeader.parse(longer.span), whole, "what follows changes the header")
            }
        case .refused:
            let longer = bytes + [0x20, 0x0D, 0x0A]
            try FuzzFinding.requireEqual(
                ProxyHeader.parse(longer.span), whole, "what was refused is refused no more")
        }
    }
}
