import Foundation
import FoundationNetworking
import SallyportClient

/// Sends each request over a connection of its own.
///
/// On Linux, URLSession sends a request once more by itself where a kept connection ends without an
/// answer, and then forgets its body.
struct FreshTransport: Transport {
    func send(
        _ request: URLRequest, _ body: RequestBody
    ) async throws -> (Data, HTTPURLResponse) {
        let transport = SessionTransport()
        defer { transport.session.finishTasksAndInvalidate() }
        return try await transport.send(request, body)
    }
}
