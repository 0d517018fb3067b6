import EventLoop
import KeyStore
import Postgres

/// The reason why a registry cannot be used now.
struct PostgresOpenError: Error {
    let reason: StoreError
    let isPermanent: Bool
    /// True if the server first told if it is a primary, and of which history.
    var isPlaced = false
}

/// The primary with the newest history, as far as the servers could be asked.
struct NewestPrimary {
    let session: BlockingSession
    /// The servers that could not be asked, with reasons. One of them may be the primary by now.
    let unasked: [UnaskedServer]
}

/// One session for a command or a start. Each call returns when the server has answered.
final class BlockingSession: PostgresSessionOwner {
    private let loop: EventLoop
    private var session: PostgresSession?
    private(set) var opening: RegistryOpening
    private var failure: PostgresOpenError?
    private(set) var wasNotified = false

    let schema: PostgresSchema

    /// Connects, trying every address once.
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

    /// Connects to the server with the newest history. If several are named, an old primary may
    /// live on, which would accept a write that is lost.
    static func withNewestPrimary(
        _ configuration: PostgresRegistryConfiguration, tables: RegistryOpening.Tables
    ) throws(PostgresOpenError) -> NewestPrimary {
        var newest: BlockingSession?
        var failure: PostgresOpenError?
        var unasked: [UnaskedServer] = []
        let pin = LineagePin(nil)
        for host in configuration.connection.hosts {
            var alone = configuration
            alone.connection.hosts = [host]
            let before = pin.newest
            do throws(PostgresOpenError) {
                let session = try BlockingSession(alone, tables: tables, pin: pin)
                if newest == nil || pin.newest != before { newest = session }
            } catch {
                let isNewer = pin.newest != before
                // This server has the newest history but cannot be used, so the others must not be
                // used either.
                if isNewer { newest = nil }
                if failure == nil || isNewer || error.isPermanent { failure = error }
                if !error.isPlaced {
                    unasked.append(
                        UnaskedServer(
                            address: host.isUnix ? host.name : "\(host.name):\(host.port)",
                            reason: error.reason))
                }
            }
        }
        if let newest { return NewestPrimary(session: newest, unasked: unasked) }
        throw failure
            ?? PostgresOpenError(
                reason: StoreError("registry: no server is named"), isPermanent: true)
    }

    var address: String { session?.address ?? "" }
    var tlsDescription: String? { session?.tlsDescription }

    /// The outcomes of all requests, including the server's refusals.
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

    /// Runs requests like ``run(_:)``, but throws at any refusal.
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
        return opening.step(after: outcomes, at: session.host)
    }

    func sessionBecameReady(_ session: PostgresSession) { loop.stop() }

    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        self.failure = PostgresOpenError(
            reason: StoreError(failure), isPermanent: session.isRefusedForGood,
            isPlaced: opening.facts.isPlaced)
        session.close()
        loop.stop()
    }

    func sessionWasNotified(_ session: PostgresSession) { wasNotified = true }
}
