import EventLoop
import Settings

@testable import Gateway

/// A resolver that says what a test says, and of other endpoints what the system does.
final class ScriptedNames: Sendable {
    private let answers = Locked<[Endpoint: Result<[SocketAddress], IOError>]>([:])

    /// From now on `endpoint` stands for these ports of 127.0.0.1.
    func set(_ endpoint: Endpoint, ports: [UInt16]) {
        let addresses = ports.compactMap { SocketAddress.numeric(host: "127.0.0.1", port: $0) }
        answers.withLock { $0[endpoint] = .success(addresses) }
    }

    /// From now on `endpoint` cannot be resolved.
    func fail(_ endpoint: Endpoint) {
        answers.withLock { $0[endpoint] = .failure(IOError("name", .unresolved("no such name"))) }
    }

    var resolver: NameResolver {
        { [answers] endpoint throws(IOError) in
            guard let answer = answers.withLock({ $0[endpoint] }) else {
                return try Endpoint.allAddresses(endpoint)
            }
            return try answer.get()
        }
    }
}
