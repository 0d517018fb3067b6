import Attestation
import Bytes
import EventLoop
import KeyStore
import Postgres

/// Hears of keys that others change, on a connection of its own.
///
/// A notification only says that there is something to read; the changes are read from the table,
/// from the last one that was read. The table is also read four times a second and after each new
/// connection, so nothing depends on a notification; and if this connection does not answer, it is
/// read on another. If the last change that was read is not there any more as it was (another
/// server took over without it, or a backup was restored), everything may have changed.
///
/// The number of the last change is in another table, too. A server that shows no change of that
/// number hides some, and then no change counts as known.
final class ChangeListener {
    typealias Answer = (Result<[PostgresOutcome], PostgresFailure>) -> Void
    typealias Asking = (PostgresRequest, @escaping Answer) -> Void

    private static let pollInterval = Duration.milliseconds(250)
    /// The time for an answer before other connections are asked.
    private static let patience = Duration.milliseconds(500)
    /// The most changed keys that are named one by one; naming more would not be worth a million
    /// bytes of ids.
    private static let namedChangeCountMax = 1000

    private let configuration: PostgresRegistryConfiguration
    private let loop: EventLoop
    private let pin: LineagePin
    private let elsewhere: Asking
    private let noticed: (RegistryChange) -> Void
    private let hearing: ChangeHearing
    private var session: PostgresSession?
    private var opening: RegistryOpening?
    private var timer: Timer?
    private var last: Place?
    private var readsAgain = false
    /// True while a question waits for another connection, because a locked table must not take one
    /// connection after another from look-ups.
    private var isAskingElsewhere = false

    /// A change that was read.
    private struct Place: Hashable {
        var revision: Int64
        var mark: [UInt8]
    }

    /// `elsewhere` asks on a connection for look-ups. `hearing` is told how current this listener
    /// is.
    init(
        loop: EventLoop, configuration: PostgresRegistryConfiguration, pin: LineagePin,
        hearing: ChangeHearing, elsewhere: @escaping Asking,
        noticed: @escaping (RegistryChange) -> Void
    ) {
        self.loop = loop
        self.configuration = configuration
        self.pin = pin
        self.elsewhere = elsewhere
        self.noticed = noticed
        self.hearing = hearing
        let session = PostgresSession(
            loop: loop, configuration: configuration.connection, owner: self)
        self.session = session
        timer = Timer(loop: loop) { [unowned self] in tick() }
        timer?.scheduleRepeating(every: Self.pollInterval)
        session.open()
    }

    func close() {
        timer = nil
        session?.close()
    }

    /// Ends the session if its server's history is an old one.
    func retire(to host: PostgresConfiguration.Host) {
        session?.prefer(host)
        guard !pin.allows(opening?.facts.lineage) else { return }
        opening = nil
        session?.drop(because: .unfit("registry: \(LineagePin.retirement)"))
    }

    private func tick() {
        let silence = hearing.age(at: loop.now)
        // Look-ups may still work, but their records are not cached any more.
        if silence > configuration.staleMax, !hearing.isExpired {
            hearing.expire()
            noticed(.everything)
        }
        if silence > Self.patience { readElsewhere() }
        read()
    }

    private func readElsewhere() {
        guard !isAskingElsewhere else { return }
        isAskingElsewhere = true
        let schema = PostgresSchema(name: configuration.schema)
        read(
            last: .statement(schema.readLastChange), changes: { .statement(schema.readChanges, $0) }
        ) { [elsewhere] request, answer in
            elsewhere(request) { [weak self] result in
                self?.isAskingElsewhere = false
                answer(result)
            }
        }
    }

    private func read() {
        guard let session, session.canRun else {
            readsAgain = true
            return
        }
        readsAgain = false
        read(
            last: .prepared(PostgresSchema.lastChange),
            changes: { .prepared(PostgresSchema.changes, $0) }
        ) { session.run([$0], completion: $1) }
    }

    private func read(
        last lastChange: PostgresRequest, changes: ([PostgresValue]) -> PostgresRequest,
        by ask: Asking
    ) {
        let sentAt = loop.now
        guard let last else {
            return ask(lastChange) { [weak self] in self?.begin($0, sentAt) }
        }
        let countMax = Int64(Self.namedChangeCountMax) + 2
        ask(changes([.integer(last.revision), .integer(countMax)])) {
            [weak self] in self?.take($0, after: last, sentAt)
        }
    }

    private func take(
        _ result: Result<[PostgresOutcome], PostgresFailure>, after last: Place,
        _ sentAt: MonotonicInstant
    ) {
        guard let rows = rows(result) else { return }
        defer { if readsAgain { read() } }
        guard rows.count > 0, place(rows, 0) == last, rows.count <= Self.namedChangeCountMax + 1
        else {
            self.last = nil
            readsAgain = true
            return
        }
        defer { nameKeys(rows) }
        // The same rows are read and named again until no row is hidden.
        guard rows.integer(rows.count - 1, 0) == rows.integer(0, 3) else { return hidden() }
        hearing.heard(asOf: sentAt)
        // Two may read at once: the later one, with less, names some keys once more.
        if rows.count > 1, self.last == last { self.last = place(rows, rows.count - 1) }
    }

    /// Names the keys of all rows but the first, which was read before.
    private func nameKeys(_ rows: PostgresRows) {
        guard rows.count > 1 else { return }
        var keys: [KeyID] = []
        for row in 1..<rows.count {
            guard let digest = rows.bytes(row, 1).flatMap({ Bytes32($0) }) else {
                return noticed(.everything)
            }
            keys.append(KeyID(digest: digest))
        }
        noticed(.keys(keys))
    }

    /// Begins at the last change that is shown, because cached records may be older.
    private func begin(
        _ result: Result<[PostgresOutcome], PostgresFailure>, _ sentAt: MonotonicInstant
    ) {
        guard let rows = rows(result) else { return }
        guard rows.count == 1, let revision = rows.integer(0, 0), let mark = rows.bytes(0, 1)
        else { return hidden() }
        last = Place(revision: revision, mark: mark)
        noticed(.everything)
        guard revision == rows.integer(0, 2) else { return hidden() }
        hearing.heard(asOf: sentAt)
        if readsAgain { read() }
    }

    /// The rows of an answer. Anything else is noted as a failure, and nil is returned.
    private func rows(_ result: Result<[PostgresOutcome], PostgresFailure>) -> PostgresRows? {
        switch result {
        case .failure(let failure): hearing.failed("\(StoreError(failure))")
        case .success(let outcomes):
            if let rows = outcomes.first?.rows { return rows }
            if let error = outcomes.failure { hearing.failed("\(StoreError(error))") }
        }
        return nil
    }

    /// Notes that the last change is not among the rows that the server shows. The next tick asks
    /// for them again.
    private func hidden() {
        hearing.failed(
            "registry: the table changes does not show the last change: its rows are hidden (row "
                + "security), or were removed")
    }

    private func place(_ rows: PostgresRows, _ row: Int) -> Place? {
        guard let revision = rows.integer(row, 0), let mark = rows.bytes(row, 2) else {
            return nil
        }
        return Place(revision: revision, mark: mark)
    }
}

extension ChangeListener: PostgresSessionOwner {
    func openingStep(
        of session: PostgresSession, after outcomes: [PostgresOutcome]?
    ) -> PostgresOpeningStep {
        var opening = self.opening
        if outcomes == nil || opening == nil {
            opening = RegistryOpening(
                configuration, tables: pin.tables, listens: true, pin: pin)
        }
        let step = opening?.step(after: outcomes, at: session.host) ?? .finished
        self.opening = opening
        return step
    }

    func sessionBecameReady(_ session: PostgresSession) { read() }

    func sessionFailed(_ session: PostgresSession, _ failure: PostgresFailure) {
        hearing.failed("\(StoreError(failure))")
    }

    func sessionWasNotified(_ session: PostgresSession) { read() }
}
