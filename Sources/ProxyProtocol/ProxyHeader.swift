import Bytes

/// The header that a proxy sends before a connection's first byte: HAProxy's PROXY protocol,
/// versions 1 and 2 (`doc/proxy-protocol.txt`, 2020-03-05).
///
/// It is pure: bytes in, verdict out. A header is parsed again whenever more of it has come.
public struct ProxyHeader: Equatable, Sendable {
    /// The origin of the connection.
    public enum Source: Equatable, Sendable {
        /// The proxy does not say: the connection is its own (`LOCAL`), or has a family without
        /// addresses. The receiver uses the address that it sees.
        case unstated
        /// An address of 4 or 16 bytes; IPv4 addresses mapped into IPv6 are given in 4.
        case address([UInt8], port: UInt16)
    }

    public enum Outcome: Equatable, Sendable {
        /// The bytes may be the beginning of a header. Only the first `ownByteCount` are known to
        /// belong to it.
        case incomplete(ownByteCount: Int)
        /// The header has `byteCount` bytes; the bytes after it are the client's.
        case complete(ProxyHeader, byteCount: Int)
        /// The bytes are not a header. Close the connection.
        case refused(ProxyHeaderFault)
    }

    public var source: Source

    public init(source: Source) { self.source = source }

    /// The longest header that is accepted, in bytes; the same bound as nginx's.
    public static let byteCountMax = 4096

    /// Parses the bytes at the start of a connection, which may go on after the header.
    public static func parse(_ bytes: Span<UInt8>) -> Outcome {
        guard !bytes.isEmpty else { return .incomplete(ownByteCount: 0) }
        return bytes[0] == ProxyHeaderV2.signature[0]
            ? ProxyHeaderV2.parse(bytes) : ProxyHeaderV1.parse(bytes)
    }
}

/// The reason why bytes are not a PROXY header. Each has a stable code for the event log.
public enum ProxyHeaderFault: String, Error, Sendable, CaseIterable {
    /// The connection begins with something else.
    case signature
    // MARK: version 1
    case lineTooLong = "line_too_long"
    case line
    case protocolName = "protocol_name"
    case address
    case port
    // MARK: version 2
    case version
    case command
    case family
    case length
    case tooLong = "too_long"
    case extensionLength = "extension_length"
    case checksum
}

extension ProxyHeader.Source {
    /// The address in its own family. Dual-stack proxies write `::ffff:192.0.2.1` for 192.0.2.1,
    /// and rules for one must hold for the other.
    static func unmapped(_ address: [UInt8], port: UInt16) -> ProxyHeader.Source {
        let prefix: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        guard address.count == 16, address.starts(with: prefix) else {
            return .address(address, port: port)
        }
        return .address(Array(address[12...]), port: port)
    }
}
