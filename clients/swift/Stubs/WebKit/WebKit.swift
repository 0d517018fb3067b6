// The declarations of WebKit that docs/client/web.md uses, for a compiler without Apple's
// frameworks. Like WebKit itself it brings Foundation along.
@_exported import Foundation

@MainActor public final class WKSecurityOrigin: NSObject {
    public let `protocol` = ""
    public let host = ""
    public let port = 0
}

@MainActor public final class WKFrameInfo: NSObject {
    public let isMainFrame = false
    public let securityOrigin = WKSecurityOrigin()
}

@MainActor public final class WKScriptMessage: NSObject {
    public let body: Any = ""
    public let frameInfo = WKFrameInfo()
}

@MainActor public final class WKContentWorld: NSObject {
    public static let page = WKContentWorld()
}

@MainActor public protocol WKScriptMessageHandlerWithReply: NSObjectProtocol {
    func userContentController(
        _ userContentController: WKUserContentController, didReceive message: WKScriptMessage
    ) async -> (Any?, String?)
}

@MainActor public final class WKUserContentController: NSObject {
    public func addScriptMessageHandler(
        _ handler: any WKScriptMessageHandlerWithReply, contentWorld: WKContentWorld, name: String
    ) {}
}

@MainActor public final class WKWebViewConfiguration: NSObject {
    public let userContentController = WKUserContentController()
}
