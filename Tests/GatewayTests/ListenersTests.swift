import EventLoop
import Foundation
import GatewayTesting
import Settings
import Testing

@testable import Gateway

@Suite("Listeners")
struct ListenersTests {
    private func settings(_ binds: [Endpoint]) -> Settings {
        var settings = Settings()
        settings.workerCount = 2
        settings.listeners = binds.map { ListenerSettings(bind: $0) }
        settings.admin = nil
        return settings
    }

    private let kept = Endpoint.tcp(host: "127.0.0.1", port: FreePort.find())
}

extension ListenersTests {
    /// Binds `bind`, has a reload drop it, and another one ask for it again while the workers still
    /// have what they were given first.
    private func rebind(_ bind: Endpoint, _ body: (Listeners) throws -> Void) throws {
        let both = settings([kept, bind])
        let listeners = try Listeners(both)
        let first = listeners.takeInitial()
        _ = try listeners.bind(settings([kept]), generation: 1)
        let second = try listeners.bind(both, generation: 2)
        // The one that stayed open comes without sockets. The admin and control threads have none.
        #expect(
            second.map { $0.map { $0.take() != nil } } == [[false, true], [false, true], [], []])
        withExtendedLifetime(first) {}
        try body(listeners)
    }

    @Test("an address that a reload dropped can come back before its sockets are closed")
    func tcp() throws {
        try rebind(.tcp(host: "127.0.0.1", port: FreePort.find())) { _ in }
    }

    @Test("so can a unix socket, with a file of its own")
    func unix() throws {
        let directory = try ScratchDirectory()
        let path = directory.path(of: "api.sock")
        try rebind(.unix(path: path)) { listeners in
            #expect(FileManager.default.fileExists(atPath: path))
            listeners.removeFiles()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("an address that every worker has closed is anybody's")
    func closed() throws {
        let port = FreePort.find()
        let bind = Endpoint.tcp(host: "127.0.0.1", port: port)
        let both = settings([kept, bind])
        let listeners = try Listeners(both)
        let initial = listeners.takeInitial()
        _ = try listeners.bind(settings([kept]), generation: 1)
        for listener in initial.joined() where listener.context.bind == bind {
            Socket.close(try #require(listener.take()))
        }
        let address = try #require(SocketAddress.numeric(host: "127.0.0.1", port: port))
        let stranger = try Socket.listeners(on: address, count: 1)
        defer { for descriptor in stranger { Socket.close(descriptor) } }
        listeners.closed(upTo: 1)
        #expect(throws: IOError.self) { try listeners.bind(both, generation: 2) }
    }
}
