import Bytes

/// Tells names that operators reach a listener by from those that a stranger can give it: a page of
/// a stranger leads a browser there under a name of the stranger's own (DNS rebinding), and reads
/// what is answered, which no password keeps from it.
public enum OwnHost {
    /// Whether `authority`, the value of Host, is an address, a name that public DNS has not
    /// (`localhost` and what is below it, and any without a period), or one of `names`.
    public static func accepts(_ authority: Span<UInt8>, names: [HostPattern]) -> Bool {
        guard let host = HostName.normalized(authority) else { return false }
        if host.hasPrefix("[") || !host.contains(".") || host.hasSuffix(".localhost") {
            return true
        }
        if IPAddress.ipv4(Array(host.utf8)[...]) != nil { return true }
        return names.contains { name in
            switch name {
            case .exact(let name): host == name
            case .below(let domain): host.hasSuffix("." + domain)
            }
        }
    }
}
