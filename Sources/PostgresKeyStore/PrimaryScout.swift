import EventLoop
import Postgres

/// Looks at all configured servers, again and again, on new sessions: a gateway whose sessions all
/// lead to an old primary that lives on would never meet the new one.
///
/// It looks at all of them at once, because an old primary that does not answer must not hide the
/// new one; and so often that a revocation at the new one reaches the gateway within its second. A
/// server has to open and end two sessions a second from each gateway.
final class PrimaryScout {
    private static let interval = Duration.milliseconds(500)

    private var looks: [PrimaryLook] = []
    private var timer: Timer?

    init(loop: EventLoop, configuration: PostgresRegistryConfiguration, pin: LineagePin) {
        let hosts = configuration.connection.hosts
        // A single name may lead elsewhere one day, which lasting sessions would not find out. A
        // socket of this machine leads nowhere else.
        guard hosts.count > 1 || !hosts.allSatisfy(\.isUnix) else { return }
        looks = hosts.map { host in
            var alone = configuration
            alone.connection.hosts = [host]
            return PrimaryLook(loop: loop, configuration: alone, pin: pin)
        }
        timer = Timer(loop: loop) { [unowned self] in look() }
        timer?.scheduleRepeating(every: Self.interval)
        // The server that the gateway found at its start may be an old primary.
        look()
    }

    func close() {
        timer = nil
        for look in looks { look.end() }
    }

    private func look() {
        for look in looks { look.begin() }
    }
}

/// Looks at one server, on a session of its own.
private final class PrimaryLook {
    private let loop: EventLoop
    private let configuration: PostgresRegistryConfiguration
    private let pin: LineagePin
    private var session: PostgresSession?
    private var opening: RegistryOpening?
    private var isLooking = false

    init(loop: EventLoop, configuration: PostgresRegistryConfiguration, pin: LineagePin) {
        self.loop = loop
        self.configuration = configuration
        self.pin = pin
    }

    /// Begins a look, unless one is under way: a server that does not answer has its time
    /// (`connect_timeout`).
    func begin() {
        guard !isLooking else { return }
        end()
        isLooking = true
        let session = PostgresSession(
            loop: loop, configuration: configuration.connection, owner: self)
        self.session = session
        session.open()
    }

    func end() {
        session?.close()
        session = nil
        opening = nil
    }
}

extension PrimaryLook: PostgresSessionOwner {
    /// Takes the first step, which already brings the result.
    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep {
        let fresh = RegistryOpening(configuration, tables: .optional, pin: pin)
        var opening = outcomes == nil ? fresh : self.opening ?? fresh
        let step = opening.step(after: outcomes, at: session.host)
        self.opening = opening
        guard opening.facts.lineage == nil else {
            return .refused("registry: only looked at", isPermanent: false)
        }
        return step
    }

    func sessionBecameReady(_ session: PostgresSession) { hasLooked(session) }

    /// Ends the session, also after a mere look.
    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        hasLooked(session)
    }

    private func hasLooked(_ session: PostgresSession) {
        session.close()
        isLooking = false
    }

    func sessionWasNotified(_ session: PostgresSession) {}
}
