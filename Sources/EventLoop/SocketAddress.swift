public import Bytes
import CLibevent
import CLinux

/// An address at which a socket listens or connects: IPv4 or IPv6 with a port, or a unix path.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    enum Form: Hashable, Sendable {
        /// An IPv4 address in host byte order.
        case ipv4(UInt32, port: UInt16)
        case ipv6(Bytes16, scope: UInt32, port: UInt16)
        /// A path; empty for the unnamed end of a connection.
        case unix(String)
    }

    let form: Form

    init(_ form: Form) { self.form = form }

    /// The longest path: sockaddr_un holds 108 bytes, the last of them NUL.
    static let unixPathByteCountMax = 107

    /// Makes an address from numbers. Nil unless `host` is a numeric IPv4 address, or IPv6 without
    /// brackets or scope.
    public static func numeric(host: String, port: UInt16) -> SocketAddress? {
        var address4 = in_addr()
        if unsafe inet_pton(AF_INET, host, &address4) == 1 {
            return SocketAddress(.ipv4(UInt32(bigEndian: address4.s_addr), port: port))
        }
        var address6 = in6_addr()
        if unsafe inet_pton(AF_INET6, host, &address6) == 1 {
            return SocketAddress(.ipv6(bytes(of: address6), scope: 0, port: port))
        }
        return nil
    }

    /// Makes an address from bytes. Nil unless `ipBytes` are the 4 of an IPv4 address or the 16 of
    /// IPv6.
    public init?(ipBytes: [UInt8], port: UInt16) {
        switch ipBytes.count {
        case 4:
            form = .ipv4(ipBytes.reduce(0) { $0 << 8 | UInt32($1) }, port: port)
        case 16:
            let bytes = ipBytes.span
            let address = Bytes16(
                word0: bytes.bigEndianWord(at: 0), word1: bytes.bigEndianWord(at: 8))
            form = .ipv6(address, scope: 0, port: port)
        default: return nil
        }
    }

    /// Makes an address from a path. Nil if the path is empty, holds a NUL, or is longer than 107
    /// bytes.
    public static func unix(_ path: String) -> SocketAddress? {
        let utf8 = path.utf8
        guard !utf8.isEmpty, utf8.count <= unixPathByteCountMax, !utf8.contains(0) else {
            return nil
        }
        return SocketAddress(.unix(path))
    }

    public var isUnix: Bool {
        if case .unix = form { true } else { false }
    }

    /// The port; nil for a unix address.
    public var port: UInt16? {
        switch form {
        case .ipv4(_, let port), .ipv6(_, _, let port): port
        case .unix: nil
        }
    }

    public func withPort(_ port: UInt16) -> SocketAddress {
        switch form {
        case .ipv4(let address, _): SocketAddress(.ipv4(address, port: port))
        case .ipv6(let address, let scope, _):
            SocketAddress(.ipv6(address, scope: scope, port: port))
        case .unix: self
        }
    }

    /// The four or sixteen bytes of the IP address; none for a unix address.
    public var ipBytes: [UInt8] {
        switch form {
        case .ipv4(let address, _):
            (0..<4).map { UInt8(truncatingIfNeeded: address >> (24 - 8 * $0)) }
        case .ipv6(let address, _, _): address.array
        case .unix: []
        }
    }

    /// The address in IPv6 form, with IPv4 mapped into it (RFC 4291 section 2.5.5.2): a key without
    /// heap storage. Nil for a unix address.
    public var ipv6Form: Bytes16? {
        switch form {
        case .ipv4(let address, _): Bytes16(word0: 0, word1: 0xFFFF_0000_0000 | UInt64(address))
        case .ipv6(let address, _, _): address
        case .unix: nil
        }
    }

    /// Text such as `127.0.0.1:80`, `[::1]:80`, `unix:/run/api.sock`.
    public var description: String {
        switch form {
        case .ipv4(_, let port): "\(ipText):\(port)"
        case .ipv6(_, _, let port): "[\(ipText)]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    /// The address without its port, IPv6 without brackets; `unix` for a unix address.
    public var ipText: String {
        var buffer = ByteBuffer()
        appendIP(to: &buffer)
        return String(decoding: buffer.readable.array, as: UTF8.self)
    }

    /// Appends ``ipText`` without making a `String`, for logs and forwarding headers.
    public func appendIP(to buffer: inout ByteBuffer) {
        switch form {
        case .ipv4(let address, _):
            buffer.append(decimal: UInt64(address >> 24))
            buffer.append(UInt8(0x2E))
            buffer.append(decimal: UInt64(address >> 16 & 0xFF))
            buffer.append(UInt8(0x2E))
            buffer.append(decimal: UInt64(address >> 8 & 0xFF))
            buffer.append(UInt8(0x2E))
            buffer.append(decimal: UInt64(address & 0xFF))
        case .ipv6(let address, _, _):
            var raw = Self.address6(address)
            // Forty-five characters at most, and a NUL.
            _ = unsafe buffer.withUnsafeWritable(minimumCount: 46) { target in
                guard
                    let text = unsafe target.baseAddress?.assumingMemoryBound(to: CChar.self),
                    unsafe inet_ntop(AF_INET6, &raw, text, 46) != nil
                else { return 0 }
                return unsafe strlen(text)
            }
        case .unix: buffer.append("unix")
        }
    }
}

extension SocketAddress {
    private static func bytes(of address: in6_addr) -> Bytes16 {
        unsafe withUnsafeBytes(of: address) { raw in
            Bytes16(
                word0: UInt64(bigEndian: unsafe raw.loadUnaligned(as: UInt64.self)),
                word1: UInt64(
                    bigEndian: unsafe raw.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        }
    }

    private static func address6(_ bytes: Bytes16) -> in6_addr {
        var address = in6_addr()
        unsafe withUnsafeMutableBytes(of: &address) { raw in
            unsafe raw.storeBytes(of: bytes.word0.bigEndian, as: UInt64.self)
            unsafe raw.storeBytes(of: bytes.word1.bigEndian, toByteOffset: 8, as: UInt64.self)
        }
        return address
    }

    var family: Int32 {
        switch form {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unix: AF_UNIX
        }
    }

    /// Calls `body` with the address in the kernel's form.
    func withKernelForm<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        let byteCount = unsafe withUnsafeMutableBytes(of: &storage) { raw in
            switch form {
            case .ipv4(let address, let port):
                var value = sockaddr_in()
                value.sin_family = sa_family_t(AF_INET)
                value.sin_port = port.bigEndian
                value.sin_addr.s_addr = address.bigEndian
                unsafe raw.storeBytes(of: value, as: sockaddr_in.self)
                return MemoryLayout<sockaddr_in>.size
            case .ipv6(let address, let scope, let port):
                var value = sockaddr_in6()
                value.sin6_family = sa_family_t(AF_INET6)
                value.sin6_port = port.bigEndian
                value.sin6_addr = Self.address6(address)
                value.sin6_scope_id = scope
                unsafe raw.storeBytes(of: value, as: sockaddr_in6.self)
                return MemoryLayout<sockaddr_in6>.size
            case .unix(let path):
                unsafe raw.storeBytes(of: sa_family_t(AF_UNIX), as: sa_family_t.self)
                var end = MemoryLayout<sa_family_t>.size
                for byte in path.utf8 {
                    unsafe raw[end] = byte
                    end += 1
                }
                return MemoryLayout<sockaddr_un>.size
            }
        }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe body(address, socklen_t(byteCount))
            }
        }
    }

    /// Makes an address from the kernel's form. Nil for other families.
    init?(_ storage: sockaddr_storage, byteCount: socklen_t) {
        let family = Int32(storage.ss_family)
        let form: Form? = unsafe withUnsafeBytes(of: storage) { raw in
            switch family {
            case AF_INET:
                let value = unsafe raw.load(as: sockaddr_in.self)
                return .ipv4(
                    UInt32(bigEndian: value.sin_addr.s_addr),
                    port: UInt16(bigEndian: value.sin_port))
            case AF_INET6:
                let value = unsafe raw.load(as: sockaddr_in6.self)
                return .ipv6(
                    Self.bytes(of: value.sin6_addr), scope: value.sin6_scope_id,
                    port: UInt16(bigEndian: value.sin6_port))
            case AF_UNIX:
                let start = MemoryLayout<sa_family_t>.size
                let end = min(Int(byteCount), MemoryLayout<sockaddr_un>.size)
                let path = unsafe raw[start..<max(start, end)].prefix { $0 != 0 }
                return unsafe .unix(String(decoding: path, as: UTF8.self))
            default: return nil
            }
        }
        guard let form else { return nil }
        self.form = form
    }

    /// The addresses of a name, in the resolver's order of preference; numbers resolve to
    /// themselves. Blocks for as long as the resolver takes: never on a worker.
    /// The corresponding C function is `getaddrinfo`.
    public static func resolve(host: String, port: UInt16) throws(IOError) -> [SocketAddress] {
        if let address = numeric(host: host, port: port) { return [address] }
        var hints = unsafe addrinfo()
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let status = unsafe getaddrinfo(host, nil, &hints, &list)
        guard status == 0 else {
            let words = unsafe String(cString: gai_strerror(status))
            throw IOError(host, .unresolved(words.prefix(1).lowercased() + words.dropFirst()))
        }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var entry = unsafe list
        while let info = unsafe entry?.pointee {
            var storage = sockaddr_storage()
            if let source = unsafe info.ai_addr {
                unsafe withUnsafeMutableBytes(of: &storage) { target in
                    let byteCount = min(Int(unsafe info.ai_addrlen), target.count)
                    unsafe target.copyMemory(
                        from: UnsafeRawBufferPointer(start: source, count: byteCount))
                }
            }
            if let address = unsafe SocketAddress(storage, byteCount: info.ai_addrlen) {
                let complete = address.withPort(port)
                if !addresses.contains(complete) { addresses.append(complete) }
            }
            unsafe entry = info.ai_next
        }
        guard !addresses.isEmpty else { throw IOError(host, .unresolved("no address")) }
        return addresses
    }
}
