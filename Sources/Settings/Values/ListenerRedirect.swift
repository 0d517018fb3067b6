public import Policy

/// What a listener answers to everything in place of routes: as a rule, to come back with TLS.
public struct ListenerRedirect: Hashable, Sendable {
    public var redirect: Redirect
    /// Paths that go to the gateway's endpoints and to routes as elsewhere.
    public var except: [PathPattern]

    public init(redirect: Redirect, except: [PathPattern] = []) {
        self.redirect = redirect
        self.except = except
    }
}
