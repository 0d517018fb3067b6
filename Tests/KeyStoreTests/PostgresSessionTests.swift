import EventLoop
import GatewayTesting
import Postgres
import PostgresKeyStore
import Testing

@Suite(
    "A session with PostgreSQL", .enabled(if: PostgresServer.isInstalled),
    .timeLimit(.minutes(30)))
struct PostgresSessionTests {}

extension PostgresSessionTests {
    /// Opens a session that one name's server never finishes to open.
    private final class Opener: PostgresSessionOwner {
        private let loop: EventLoop
        private let slow: PostgresConfiguration.Host
        private let preferred: PostgresConfiguration.Host
        private var timer: Timer?
        private(set) var readyAt: PostgresConfiguration.Host?

        init(
            loop: EventLoop, slow: PostgresConfiguration.Host,
            prefers host: PostgresConfiguration.Host
        ) {
            self.loop = loop
            self.slow = slow
            preferred = host
        }

        func openingStep(
            of session: PostgresSession, after outcomes: [PostgresOutcome]?
        ) -> PostgresOpeningStep {
            guard session.host == slow else { return .finished }
            let preferred = preferred
            timer = Timer(loop: loop) { [unowned session] in session.prefer(preferred) }
            timer?.schedule(after: .zero)
            return .run([.statement("SELECT pg_sleep(100000)")])
        }

        func sessionBecameReady(_ session: PostgresSession) {
            readyAt = session.host
            loop.stop()
        }

        func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {}

        func sessionWasNotified(_ session: PostgresSession) {}
    }

    @Test("does not wait for the server that opens it once another one is preferred")
    func preference() throws {
        let server = try PostgresServer()
        let slow = PostgresConfiguration.Host(name: "127.0.0.1", port: server.port)
        let other = PostgresConfiguration.Host(name: "localhost", port: server.port)
        var configuration = try PostgresFixture(server).configuration().connection
        configuration.hosts = [slow, other]
        configuration.connectTimeout = .seconds(100_000)
        configuration.commandTimeout = .seconds(100_000)
        let loop = try EventLoop()
        let opener = Opener(loop: loop, slow: slow, prefers: other)
        let limit = Timer(loop: loop) { [unowned loop] in loop.stop() }
        limit.schedule(after: .seconds(600))
        let session = PostgresSession(loop: loop, configuration: configuration, owner: opener)
        session.open()
        loop.run()
        session.close()
        #expect(opener.readyAt == other)
    }
}
