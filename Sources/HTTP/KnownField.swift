/// Fields that the gateway treats specially: at most 64, so that a word has a bit for each.
public enum KnownField: UInt8, Sendable, CaseIterable {
    case other
    // Framing and the connection.
    case host, connection, contentLength, transferEncoding, te, trailer, upgrade, keepAlive
    case proxyConnection, proxyAuthorization, proxyAuthenticate, http2Settings, expect
    // The sender, and the proxies on the way.
    case forwarded, xForwardedFor, xForwardedHost, xForwardedProto, xForwardedPort
    case xForwardedPrefix, xForwardedServer, xForwardedSsl, xForwardedScheme
    case xRequestID, xRealIP, via, maxForwards
    // Fields that ask some servers to take another method or path than the one that was matched.
    case xHTTPMethod, xHTTPMethodOverride, xMethodOverride, xOriginalURL, xRewriteURL
    // The app's report of a failure; the gateway's own field.
    case xAppAttestFailure
    // Content and the rest.
    case authorization, accept, acceptEncoding, acceptLanguage, contentType, contentEncoding, cookie
    case date, server, userAgent, cacheControl, eTag, location, retryAfter, wwwAuthenticate

    /// The name in lower case; empty for `other`.
    public var name: StaticString {
        switch self {
        case .other: ""
        case .host: "host"
        case .connection: "connection"
        case .contentLength: "content-length"
        case .transferEncoding: "transfer-encoding"
        case .te: "te"
        case .trailer: "trailer"
        case .upgrade: "upgrade"
        case .keepAlive: "keep-alive"
        case .proxyConnection: "proxy-connection"
        case .proxyAuthorization: "proxy-authorization"
        case .proxyAuthenticate: "proxy-authenticate"
        case .http2Settings: "http2-settings"
        case .expect: "expect"
        case .forwarded: "forwarded"
        case .xForwardedFor: "x-forwarded-for"
        case .xForwardedHost: "x-forwarded-host"
        case .xForwardedProto: "x-forwarded-proto"
        case .xForwardedPort: "x-forwarded-port"
        case .xForwardedPrefix: "x-forwarded-prefix"
        case .xForwardedServer: "x-forwarded-server"
        case .xForwardedSsl: "x-forwarded-ssl"
        case .xForwardedScheme: "x-forwarded-scheme"
        case .xRequestID: "x-request-id"
        case .xRealIP: "x-real-ip"
        case .via: "via"
        case .maxForwards: "max-forwards"
        case .xHTTPMethod: "x-http-method"
        case .xHTTPMethodOverride: "x-http-method-override"
        case .xMethodOverride: "x-method-override"
        case .xOriginalURL: "x-original-url"
        case .xRewriteURL: "x-rewrite-url"
        case .xAppAttestFailure: "x-app-attest-failure"
        case .authorization: "authorization"
        case .accept: "accept"
        case .acceptEncoding: "accept-encoding"
        case .acceptLanguage: "accept-language"
        case .contentType: "content-type"
        case .contentEncoding: "content-encoding"
        case .cookie: "cookie"
        case .date: "date"
        case .server: "server"
        case .userAgent: "user-agent"
        case .cacheControl: "cache-control"
        case .eTag: "etag"
        case .location: "location"
        case .retryAfter: "retry-after"
        case .wwwAuthenticate: "www-authenticate"
        }
    }

    /// True if the field belongs to one connection and is never forwarded (RFC 9110 section 7.6.1),
    /// whether or not `Connection` nominates it.
    public var isHopByHop: Bool {
        switch self {
        case .connection, .transferEncoding, .te, .trailer, .upgrade, .keepAlive, .proxyConnection,
            .proxyAuthorization, .proxyAuthenticate, .http2Settings:
            true
        default: false
        }
    }

    /// True if the field says how long a message is or whom it is for. A second reading of such a
    /// field is an attack.
    var isFraming: Bool {
        switch self {
        case .host, .contentLength, .transferEncoding, .connection: true
        default: false
        }
    }

    /// True if `Connection` may not name the field: a client could otherwise have a field dropped
    /// that the next server relies on (RFC 9110 section 7.6.1).
    var isEndToEnd: Bool {
        switch self {
        case .host, .contentLength, .expect, .authorization, .contentType, .contentEncoding,
            .cookie, .date, .via, .forwarded, .xForwardedFor, .xForwardedHost, .xForwardedProto,
            .xForwardedPort, .xForwardedPrefix, .xForwardedServer, .xForwardedSsl,
            .xForwardedScheme, .xRequestID, .xRealIP:
            true
        default: false
        }
    }

    /// The field of that name, folding ASCII case; `_` and `-` stay apart.
    public init(name: Span<UInt8>) {
        guard name.isToken else {
            self = .other
            return
        }
        self = KnownFieldTable.shared.field(in: name, from: 0, to: name.count)
    }

    /// The field that a server sees in that name if it turns `-` into `_` or `_` into `-` (CGI,
    /// WSGI, Rack).
    public init(foldingUnderscores name: Span<UInt8>) {
        guard name.count <= KnownFieldTable.nameByteCountMax else {
            self = .other
            return
        }
        let folded = [UInt8](capacity: name.count) { output in
            for index in name.indices {
                output.append(name[index] == ASCIIByte.underscore ? 0x2D : name[index])
            }
        }
        self.init(name: folded.span)
    }
}
