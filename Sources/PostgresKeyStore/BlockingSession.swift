import EventLoop
import KeyStore
import Postgres

/// Why a registry cannot be used now.
struct PostgresOpenError: Error {
    let reason: StoreError
    let isPermanent: Bool
}

/// One session for a command or a start: each call returns when the server has answered.
final class BlockingSession: PostgresSessionOwner {
    private let loop: EventLoop
    private var session: PostgresSession?
    private(set) var opening: RegistryOpening
    private var failure: PostgresOpenError?
    private(set) var wasNotified = false

    let schema: PostgresSchema

    /// Connects; tries every address once.
    init(
        _ configuration: PostgresRegistryConfiguration, tables: RegistryOpening.Tables,
        listens: Bool = false, pin: LineagePin? = nil
    ) throws(PostgresOpenError) {
        do throws(EventLoopError) {
            loop = try EventLoop()
        } catch {
            throw PostgresOpenError(reason: StoreError("registry: \(error)"), isPermanent: true)
        }
        schema = PostgresSchema(name: configuration.schema)
        opening = RegistryOpening(configuration, tables: tables, listens: listens, pin: pin)
        let session = PostgresSession(
            loop: loop, configuration: configuration.connection, owner: self)
        self.session = session
        session.open()
        loop.run()
        if let failure {
            session.close()
            throw failure
        }
    }

    deinit { session?.close() }

    /// With the server that has gone on from the others: of several that are named an old primary
    /// may live on, which would take a write that is lost.
    static func withNewestPrimary(
        _ configuration: PostgresRegistryConfiguration, tables: RegistryOpening.Tables
    ) throws(PostgresOpenError) -> BlockingSession {
        var newest: BlockingSession?
        var failure: PostgresOpenError?
        let pin = LineagePin(nil)
        for host in configuration.connection.hosts {
            var alone = configuration
            alone.connection.hosts = [host]
            do throws(PostgresOpenError) {
                let before = pin.newest
                let session = try BlockingSession(alone, tables: tables, pin: pin)
                if newest == nil || pin.newest != before { newest = session }
            } catch {
                if failure == nil || error.isPermanent { failure = error }
            }
        }
        if let newest { return newest }
        throw failure
            ?? PostgresOpenError(
                reason: StoreError("registry: no server is named"), isPermanent: true)
    }

    var address: String { session?.address ?? "" }
    var tlsDescription: String? { session?.tlsDescription }

    /// The outcomes of all requests; what the server refused is among them.
    func run(_ requests: [PostgresRequest]) throws(StoreError) -> [PostgresOutcome] {
        guard let session, session.canRun else {
            throw failure?.reason ?? StoreError("registry: no connection")
        }
        var answer: Result<[PostgresOutcome], PostgresFailure>?
        let loop = loop
        session.run(requests) { result in
            answer = result
            loop.stop()
        }
        if answer == nil { loop.run() }
        switch answer {
        case .success(let outcomes): return outcomes
        case .failure(let failure): throw StoreError(failure)
        case nil: throw StoreError("registry: no answer")
        }
    }

    /// The same, where any refusal is an error.
    func runAll(_ requests: [PostgresRequest]) throws(StoreError) -> [PostgresOutcome] {
        let outcomes = try run(requests)
        if let error = outcomes.failure { throw StoreError(error) }
        return outcomes
    }

    // MARK: the session's owner

    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep {
        if outcomes == nil { opening = opening.again }
        return opening.step(after: outcomes)
    }

    func sessionBecameReady(_ session: PostgresSession) { loop.stop() }

    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        self.failure = PostgresOpenError(
            reason: StoreError(failure), isPermanent: session.isRefusedForGood)
        session.close()
        loop.stop()
    }

    func sessionWasNotified(_ session: PostgresSession) { wasNotified = true }
}
