/// A proxy's URL: `scheme://[user[:password]@]host:port`.
struct ProxyURL {
    private static let schemes = ["http", "https", "socks5", "socks5h"]

    let text: String
    /// The URL without the password.
    let shown: String
    let password: String?

    init?(_ text: String) {
        guard let end = text.firstRange(of: "://"),
            text.isVisible,
            Self.schemes.contains(String(text[..<end.lowerBound]))
        else { return nil }
        var place = text[end.upperBound...]
        var login = ""
        if let at = place.lastIndex(of: "@") {
            login = String(place[..<at])
            place = place[place.index(after: at)...]
            guard !login.isEmpty, !login.contains("/"), !login.contains("@") else { return nil }
        }
        guard let endpoint = try? EndpointText.parse(String(place)),
            case .tcp(_, port: 1...) = endpoint
        else { return nil }
        self.text = text
        let user = login.prefix { $0 != ":" }
        password = login.firstIndex(of: ":").map { String(login[login.index(after: $0)...]) }
        let mask = password == nil ? "" : ":***"
        let shownLogin = login.isEmpty ? "" : "\(user)\(mask)@"
        shown = "\(text[..<end.lowerBound])://\(shownLogin)\(place)"
    }
}
