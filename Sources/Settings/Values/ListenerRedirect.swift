public import Policy

/// The redirect that a listener sends in place of routes, usually to come back with TLS.
public struct ListenerRedirect: Hashable, Sendable {
    public var redirect: Redirect
    /// Paths that go to the gateway's endpoints and to routes as elsewhere.
    public var except: [PathPattern]

    public init(redirect: Redirect, except: [PathPattern] = []) {
        self.redirect = redirect
        self.except = except
    }
}
