import Bytes

/// Tells the names by which operators reach a listener from names that a stranger can point at it.
/// A stranger's page can lead a browser there under a name of the stranger's own (DNS rebinding),
/// and read the answers. A password does not prevent that.
public enum OwnHost {
    /// True if `authority`, the value of Host, is an address, a name that public DNS does not have
    /// (`localhost` and names below it, and any name without a period), or one of `names`.
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
