import EventLoop
import Postgres

/// Looks at each server that is named, one after another and again and again, on a new session: a
/// gateway whose sessions all lie with an old primary that lives on would never meet the new one.
final class PrimaryScout {
    private static let interval = Duration.seconds(2)

    private let loop: EventLoop
    private let configuration: PostgresRegistryConfiguration
    private let pin: LineagePin
    private var hosts: [PostgresConfiguration.Host]
    private var session: PostgresSession?
    private var opening: RegistryOpening?
    private var timer: Timer?
    private var isLooking = false

    init(loop: EventLoop, configuration: PostgresRegistryConfiguration, pin: LineagePin) {
        self.loop = loop
        self.configuration = configuration
        self.pin = pin
        hosts = configuration.connection.hosts
        // One name may lead elsewhere one day, which sessions that last would not find out. The
        // socket of this machine leads nowhere else.
        guard hosts.count > 1 || !hosts.allSatisfy(\.isUnix) else { return }
        timer = Timer(loop: loop) { [unowned self] in lookAtNext() }
        timer?.scheduleRepeating(every: Self.interval)
    }

    func close() {
        timer = nil
        end()
    }

    private func lookAtNext() {
        // A server that does not answer has its time (`connect_timeout`).
        guard !isLooking else { return }
        end()
        isLooking = true
        let host = hosts.removeFirst()
        hosts.append(host)
        var connection = configuration.connection
        connection.hosts = [host]
        let session = PostgresSession(loop: loop, configuration: connection, owner: self)
        self.session = session
        session.open()
    }

    private func end() {
        session?.close()
        session = nil
        opening = nil
    }
}

extension PrimaryScout: PostgresSessionOwner {
    /// What it came for is found by the first step.
    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep {
        let fresh = RegistryOpening(configuration, tables: .optional, pin: pin)
        var opening = outcomes == nil ? fresh : self.opening ?? fresh
        let step = opening.step(after: outcomes)
        self.opening = opening
        guard opening.facts.lineage == nil else {
            return .refused("registry: only looked at", isPermanent: false)
        }
        return step
    }

    func sessionBecameReady(_ session: PostgresSession) { hasLooked(session) }

    /// Also where it was only looked at.
    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        hasLooked(session)
    }

    private func hasLooked(_ session: PostgresSession) {
        session.close()
        isLooking = false
    }

    func sessionWasNotified(_ session: PostgresSession) {}
}
