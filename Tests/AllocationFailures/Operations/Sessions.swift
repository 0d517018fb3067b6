import EventLoop
import Postgres

extension Operation {
    /// What the registry asks PostgreSQL through libpq.
    static func sessions() throws -> [Operation] {
        let server = try LocalServer { PostgresStandIn(connection: $0).serve() }
        let rows = PostgresOutcome.rows(
            PostgresRows(columnCount: 2, cells: [PostgresStandIn.cell, nil]))
        return [
            Operation("PostgreSQL: a run", of: .libpq) {
                .same(as: [rows, rows, .done(rowCount: 0, tag: "COMMIT")]) {
                    try SessionRun(server.port).outcomes([
                        .statement("SELECT", .integer(12), .text("text"), .null),
                        .statement("SELECT", .bytes([1, 2])),
                        .statement("COMMIT"),
                    ])
                }
            },
            Operation("PostgreSQL: prepared", of: .libpq) {
                .same(as: [.done(rowCount: 0, tag: ""), rows]) {
                    try SessionRun(server.port).outcomes([
                        .prepare("find", "SELECT"), .prepared("find", .text("text")),
                    ])
                }
            },
        ]
    }
}

/// One session that opens, runs and closes.
private final class SessionRun: PostgresSessionOwner {
    private let loop: EventLoop
    private let port: UInt16
    private var requests: [PostgresRequest] = []
    private var result: Result<[PostgresOutcome], PostgresFailure>?

    init(_ port: UInt16) throws {
        loop = try EventLoop()
        self.port = port
    }

    func outcomes(_ requests: [PostgresRequest]) throws -> [PostgresOutcome] {
        self.requests = requests
        var configuration = PostgresConfiguration(hosts: [.init(name: "127.0.0.1", port: port)])
        configuration.user = "user"
        configuration.database = "database"
        configuration.password = "password"
        configuration.parameters = ["sslmode": "disable"]
        // While all of its allocations fail libpq stands still, and the session ends it in time.
        let patience = Duration.seconds(Starvation.isArmed ? 1 : 60)
        configuration.connectTimeout = patience
        configuration.commandTimeout = patience
        let session = PostgresSession(loop: loop, configuration: configuration, owner: self)
        session.open()
        loop.run()
        session.close()
        guard let outcomes = try result?.get() else { throw PostgresFailure.closed }
        for case .failed(let error) in outcomes { throw error }
        return outcomes
    }

    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep { .finished }

    func sessionBecameReady(_ session: PostgresSession) {
        session.run(requests) { [unowned self] result in
            self.result = result
            loop.stop()
        }
    }

    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        loop.stop()
    }

    func sessionWasNotified(_ session: PostgresSession) {}
}
