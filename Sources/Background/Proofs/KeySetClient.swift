package import EventLoop
package import HTTPSClient

/// Asks one issuer for its keys.
package protocol KeySetClient: AnyObject {
    /// `handler` is called with the answer once, and later.
    func ask(
        _ request: HTTPSRequest,
        handler: @escaping (Result<HTTPSResponse, HTTPSFailure>) -> Void)
    func close()
}

package typealias KeySetClientMaker =
    (EventLoop, HTTPSConfiguration) throws(HTTPSClientError) -> any KeySetClient

/// The client of every gateway; tests have other clients, for which no time passes.
package func makeKeySetClient(
    loop: EventLoop, configuration: HTTPSConfiguration
) throws(HTTPSClientError) -> any KeySetClient {
    try HTTPSClient(loop: loop, configuration)
}

extension HTTPSClient: KeySetClient {
    package func ask(
        _ request: HTTPSRequest,
        handler: @escaping (Result<HTTPSResponse, HTTPSFailure>) -> Void
    ) {
        send(request, handler: handler)
    }
}
