package import AppAttest
import Attestation
import Bytes
import Crypto
package import EventLoop
package import KeyStore
package import Settings

/// The configuration of renewals. A reload replaces it.
package struct RenewalConfiguration: Sendable {
    let settings: Settings
    let verifier: ReceiptVerifier
    let schedule: ReceiptSchedule

    package init(settings: Settings, verifier: ReceiptVerifier, schedule: ReceiptSchedule) {
        self.settings = settings
        self.verifier = verifier
        self.schedule = schedule
    }
}

/// Renews receipts on the control thread: carries out the actions of the ``RenewalPlanner``,
/// verifies the answers, and informs log and metrics.
package final class ReceiptRenewal {
    /// An answer of the registry, on its way to this thread.
    private enum Reply: Sendable {
        case lease(Result<SharedOutcome, StoreError>)
        case due(Result<[DueReceipt], StoreError>)
        case backlog(Result<ReceiptBacklog, StoreError>)
        case stored(Result<Set<KeyID>, StoreError>)
    }

    private let loop: EventLoop
    private let registry: any Registry
    private let meter: RenewalMeter
    private let log: any EventLog
    private var configuration: RenewalConfiguration
    private var exchange: (any ReceiptExchange)?
    private var planner: RenewalPlanner
    private let replies: Mailbox<Reply>
    private var receiver: MailboxReceiver<Reply>?
    /// A mailbox of its own, so that a flood of changes keeps no answer out.
    private var changes: MailboxReceiver<RegistryChange>?
    private var timer: Timer?
    private var isRunning = false
    private var isStopped = false
    private var isHolder = false
    /// The events about single receipts.
    private var repeated = RepeatedEvents()

    /// The most replies: far more than the operations that are ever asked, each of which has one. A
    /// lost reply would be awaited forever.
    private static let replyCountMax = 1000
    /// The most changes that are remembered. The write itself detects changes that were lost beyond
    /// them.
    private static let changeCountMax = 10_000

    /// `exchange`: nil if no app has a key.
    package init(
        loop: EventLoop, registry: any Registry, meter: RenewalMeter, log: any EventLog,
        _ configuration: RenewalConfiguration, exchange: (any ReceiptExchange)?
    ) throws {
        self.loop = loop
        self.registry = registry
        self.meter = meter
        self.log = log
        self.configuration = configuration
        self.exchange = exchange
        planner = RenewalPlanner(
            Self.rules(configuration, exchange), holder: RandomBytes.bytes(16))
        replies = try Mailbox(countMax: Self.replyCountMax)
        receiver = replies.attach(to: loop) { [unowned self] in take($0) }
        let changed = try Mailbox<RegistryChange>(countMax: Self.changeCountMax)
        changes = changed.attach(to: loop) { [unowned self] in
            planner.changed($0)
            run()
        }
        timer = Timer(loop: loop) { [unowned self] in run() }
        registry.onChange { _ = changed.post($0) }
        timer?.schedule(after: .zero)
    }

    private static func rules(
        _ configuration: RenewalConfiguration, _ exchange: (any ReceiptExchange)?
    ) -> RenewalPlanner.Rules {
        let settings = configuration.settings.receipts
        var backOff = BackOff()
        backOff.shortest = settings.retry.shortest
        backOff.longest = settings.retry.longest
        let apps =
            settings.renews
            ? configuration.settings.apps.filter { exchange?.hasKey(ofTeam: $0.teamID) ?? false }
            : []
        return RenewalPlanner.Rules(
            schedule: configuration.schedule, spacing: settings.rate.spacingNanoseconds,
            inFlightCountMax: exchange?.inFlightCountMax ?? 0, backOff: backOff,
            unauthorizedPause: settings.retry.unauthorized, leaseLifetime: settings.lease,
            groups: apps.flatMap { app in
                AttestEnvironment.allCases.filter(app.environments.contains).map {
                    ReceiptGroup(appID: app.id, environment: $0)
                }
            })
    }

    /// Replaces the configuration. Answers to requests with the keys of the old one are still
    /// taken.
    package func replace(
        _ configuration: RenewalConfiguration, exchange: (any ReceiptExchange)?
    ) {
        guard !isStopped else { return }
        self.configuration = configuration
        self.exchange = exchange
        planner.replace(Self.rules(configuration, exchange), at: loop.now)
        run()
    }

    /// Stops the renewal. The registry completes the operations asked here before it closes.
    package func stop() {
        guard !isStopped else { return }
        isStopped = true
        timer?.cancel()
        for action in planner.stop(at: now) { perform(action) }
        show()
    }

    private var now: RenewalPlanner.Moment {
        RenewalPlanner.Moment(instant: loop.now, seconds: loop.wallMilliseconds / 1000)
    }

    private func run() {
        guard !isRunning, !isStopped else { return }
        isRunning = true
        while let action = planner.next(at: now) { perform(action) }
        isRunning = false
        show()
        timer?.schedule(after: planner.wake(at: now) - loop.now)
    }

    // MARK: carrying out actions

    private func perform(_ action: RenewalPlanner.Action) {
        let registry = registry
        let replies = replies
        switch action {
        case .writeLease(let write):
            registry.writeShared(write) { _ = replies.post(.lease($0)) }
        case .readDue(let queries):
            let gathered = Gathered<[DueReceipt]>(count: queries.count) { result in
                let pages = result.map { pages in
                    pages.flatMap(\.self).sorted { $0.dueAt < $1.dueAt }
                }
                _ = replies.post(.due(pages))
            }
            for query in queries { registry.dueReceipts(query) { gathered.add($0) } }
        case .countBacklog(let groups, let now):
            let gathered = Gathered<ReceiptBacklog>(count: groups.count) { result in
                _ = replies.post(.backlog(result.map { $0.reduce(ReceiptBacklog(), +) }))
            }
            for group in groups {
                registry.receiptBacklog(group, now: now) { gathered.add($0) }
            }
        case .send(let due): send(due)
        case .store(let renewals):
            registry.storeRenewals(renewals) { _ = replies.post(.stored($0)) }
        }
    }

    private func send(_ due: DueReceipt) {
        guard let exchange else { return answered(.other(.unreachable("no key")), due) }
        exchange.exchange(due.receipt, of: due.group) { [weak self] answer in
            self?.answered(answer, due)
        }
    }

    private func answered(_ answer: ReceiptAnswer, _ due: DueReceipt) {
        guard !isStopped else { return }
        let result =
            switch answer {
            case .receipt(let receipt): verified(receipt, due)
            // Only if Apple says so too, because our clock may be wrong.
            case .other(.notFound) where due.state.expiresAt ?? .max <= now.seconds:
                RenewalResult.expired
            case .other(let result): result
            }
        meter.count(result.outcome)
        let pause = planner.answered(
            result, of: due.keyID, at: now, jitter: Double.random(in: 0...1))
        tell(result, due.group, pause: pause)
        run()
    }

    /// Verifies a receipt from Apple's server, which is not believed before.
    private func verified(_ receipt: [UInt8], _ due: DueReceipt) -> RenewalResult {
        let skewSeconds = configuration.settings.trust.clockSkew.components.seconds
        do {
            let fields = try configuration.verifier.verify(
                receipt, appID: due.group.appID, publicKey: due.publicKey,
                environment: due.group.environment, creation: .min...(now.seconds + skewSeconds)
            ).fields
            guard fields.kind == .receipt else { return .invalid("type") }
            guard fields.createdAt.seconds >= due.state.createdAt ?? .min else {
                return .invalid("older")
            }
            return .renewed(receipt, fields)
        } catch {
            return .invalid(error.code)
        }
    }

    // MARK: answers of the registry

    private func take(_ reply: Reply) {
        guard !isStopped else { return }
        switch reply {
        case .lease(let result): planner.leaseAnswered(result, at: loop.now)
        case .due(let result): planner.dueRead(result, at: loop.now)
        case .backlog(let result): planner.counted(result)
        case .stored(let result):
            meter.countSuperseded(planner.stored(result, at: loop.now).count)
        }
        run()
    }

    // MARK: log and metrics

    private func tellOnce(_ level: StaticString, _ name: StaticString, _ text: String) {
        log.event(level: level, name, repeated.turn(name, text, at: loop.now))
    }

    private func tell(_ result: RenewalResult, _ group: ReceiptGroup, pause: Duration?) {
        let place = "\(group.appID), \(group.environment.rawValue)"
        switch result {
        case .invalid(let reason):
            let text = "\(place): Apple's new receipt is refused (\(reason))"
            tellOnce("error", "receipt_invalid", text)
        case .wrongEnvironment, .badPayload:
            let text =
                "\(place): Apple refuses a receipt (\(result.outcome.rawValue)); it is not sent"
                + " again"
            tellOnce("warning", "receipt_refused", text)
        case .unauthorized:
            guard let pause else { return }
            log.event(
                level: "error", "receipts_unauthorized",
                "team \(group.teamID): Apple does not accept its key; no receipt of the team is "
                    + "renewed for \(pause.components.seconds)s, or until a reload")
        default:
            guard let pause else { return }
            let reason = result.reason.map { " (\($0))" } ?? ""
            log.event(
                level: "warning", "receipts_backing_off",
                "\(result.outcome.rawValue)\(reason): no receipt is renewed for"
                    + " \(pause.components.seconds)s")
        }
    }

    /// Sets the gauges, and whether this gateway holds the lease.
    private func show() {
        let isHolder = planner.lease.term(at: loop.now) != nil && !isStopped
        meter.show(
            isOn: !planner.rules.groups.isEmpty, holdsLease: isHolder, backlog: planner.backlog,
            pause: planner.pause(at: loop.now), spacing: planner.rules.spacing)
        guard isHolder != self.isHolder else { return }
        self.isHolder = isHolder
        log.event(
            level: "info", "receipts_lease",
            isHolder
                ? "this gateway renews receipts" : "this gateway no longer renews receipts")
    }
}

/// The answers to several questions, passed on together: all of them, or the first failure.
private final class Gathered<Value: Sendable>: Sendable {
    private struct Contents {
        var values: [Value] = []
        var failure: StoreError?
        var missingCount: Int
    }

    private let contents: Locked<Contents>
    private let tell: @Sendable (Result<[Value], StoreError>) -> Void

    init(count: Int, tell: @escaping @Sendable (Result<[Value], StoreError>) -> Void) {
        contents = Locked(Contents(missingCount: count))
        self.tell = tell
    }

    func add(_ result: Result<Value, StoreError>) {
        let whole = contents.withLock { contents -> Result<[Value], StoreError>? in
            contents.missingCount -= 1
            switch result {
            case .success(let value): contents.values.append(value)
            case .failure(let error): contents.failure = contents.failure ?? error
            }
            guard contents.missingCount == 0 else { return nil }
            return contents.failure.map { .failure($0) } ?? .success(contents.values)
        }
        if let whole { tell(whole) }
    }
}

extension ReceiptBacklog {
    fileprivate static func + (left: ReceiptBacklog, right: ReceiptBacklog) -> ReceiptBacklog {
        let firsts = [left.firstDueAt, right.firstDueAt].compactMap(\.self)
        return ReceiptBacklog(
            dueCount: min(left.dueCount + right.dueCount, countMax), firstDueAt: firsts.min())
    }
}
