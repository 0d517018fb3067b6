package import AndroidAttestation
package import EventLoop
import HTTPSClient
package import Settings

/// Fetches the list of withdrawn Android attestation certificates, again and again, so that no
/// enrolment waits for it. It belongs to the control thread; nothing in it blocks but
/// ``restore(_:)``.
package final class RevocationFetcher {
    /// The effect of another configuration, once that is in use.
    package struct Change {
        /// Nil if no list is needed.
        fileprivate let settings: AndroidRevocationSettings?
        /// The client for a URL; nil for a file.
        fileprivate let client: (any KeySetClient)?
    }

    private let loop: EventLoop
    private let state: RevocationState
    private let log: any EventLog
    private let makeClient: KeySetClientMaker
    private let keeper: FileKeeper
    private let file: RevocationFile?
    private let onList: (RevocationList, String) -> Void

    private var settings: AndroidRevocationSettings?
    private var client: (any KeySetClient)?
    private var reading: BlockingCall<Result<RevocationContent, IOError>>?
    private var timer: Timer?
    private var isBusy = false
    /// True if the question under way was asked before a reload, which asks anew.
    private var isOutdated = false
    private var failureCount = 0
    private var due: MonotonicInstant { didSet { state.plan(due) } }
    private var judge = RevocationJudge()
    /// The source of the list in force.
    private var listSource: AndroidRevocationSettings.Source?
    /// True if the operator was told that the list does not count any more.
    private var isExpiryTold = false
    /// The number of ignored entries that the operator was told of.
    private var ignoredCountTold = 0

    /// `file`: the place where the list outlives the gateway; nil if it does not. `onList` is
    /// called with each list that is put in force, changed or not, and its place.
    package init(
        loop: EventLoop, state: RevocationState, log: any EventLog, file: RevocationFile? = nil,
        client makeClient: @escaping KeySetClientMaker = makeKeySetClient,
        onList: @escaping (RevocationList, String) -> Void = { _, _ in }
    ) {
        self.loop = loop
        self.state = state
        self.log = log
        self.file = file
        self.makeClient = makeClient
        self.onList = onList
        keeper = FileKeeper(threadName: "revocations", loop: loop) { failure in
            if let failure {
                log.event(
                    level: "warning", "revocation_list_unkept",
                    "\(failure); after a restart the list has to be fetched first")
            } else {
                log.event(
                    level: "info", "revocation_list_kept", "the file of the list is written again")
            }
        }
        due = loop.now
        timer = Timer(loop: loop) { [unowned self] in tend() }
    }

    // MARK: settings

    /// Prepares another configuration. To be called at the start and at each reload, before any
    /// part of it is in force. `settings`: nil if no app is an Android one.
    package func change(
        to settings: AndroidRevocationSettings?
    ) throws(ConfigurationFailure) -> Change {
        guard let settings, settings.source != .off else {
            return Change(settings: nil, client: nil)
        }
        guard settings.url != nil else { return Change(settings: settings, client: nil) }
        let configuration = Self.configuration(settings)
        if let known = self.settings, known.source == settings.source,
            Self.configuration(known) == configuration
        {
            return Change(settings: settings, client: client)
        }
        do throws(HTTPSClientError) {
            return Change(settings: settings, client: try makeClient(loop, configuration))
        } catch {
            throw ConfigurationFailure("trust.android.revocation: \(error)")
        }
    }

    private static func configuration(_ settings: AndroidRevocationSettings) -> HTTPSConfiguration {
        settings.configuration(byteCountMax: RevocationList.byteCountMax)
    }

    /// Loads the list that an earlier gateway has fetched, with its age, so that enrolments need
    /// not wait for the server. Blocks; to be called once, before ``use(_:)``.
    package func restore(_ change: Change) {
        guard let file, let url = change.settings?.url else { return }
        do throws(DigestedFileError) {
            guard let kept = try file.read(), kept.url == url else { return }
            let age = Duration.milliseconds(loop.wallMilliseconds - kept.fetchedAtMilliseconds)
            guard age >= .zero else {
                // The age of this list is not known.
                throw DigestedFileError(
                    "\(file.path): the list was fetched later than the clock shows")
            }
            guard let list = try? RevocationList(parsing: kept.document) else {
                throw DigestedFileError("\(file.path): is no revocation list")
            }
            state.take(list, age: age, at: loop.now, isFetched: false)
            tellIgnored(list)
            listSource = .url(url)
            onList(list, url)
        } catch {
            log.event(level: "warning", "revocation_list_unread", "\(error)")
        }
    }

    package func use(_ change: Change) {
        if client !== change.client { client?.close() }
        if settings?.source != change.settings?.source {
            judge.forget()
            failureCount = 0
        }
        settings = change.settings
        client = change.client
        guard let settings else {
            state.needNone()
            timer?.cancel()
            return
        }
        state.need(ageMax: settings.ageMax)
        due = loop.now
        isOutdated = isBusy
        tend()
        timer?.scheduleRepeating(every: Self.interval)
    }

    /// Cancels the question that is under way.
    package func close() {
        timer = nil
        reading = nil
        client?.close()
        client = nil
        settings = nil
    }

    // MARK: fetching

    private func tend() {
        guard let settings else { return }
        tellExpiry()
        guard !isBusy, due <= loop.now else { return }
        isBusy = true
        switch settings.source {
        case .url(let url): ask(url)
        case .file(let path): read(path)
        case .off: break
        }
    }

    private func ask(_ url: String) {
        let source = AndroidRevocationSettings.Source.url(url)
        client?.ask(.document(at: url)) { [weak self] result in
            guard let self else { return }
            isBusy = false
            if case .failure(.closed) = result { return }
            guard let settings else { return }
            take(RevocationAnswer(result, refresh: settings.refresh), from: source)
        }
    }

    private func read(_ path: String) {
        let wallMilliseconds = loop.wallMilliseconds
        do throws(IOError) {
            reading = try BlockingCall(name: "revocations", loop: loop) {
                Result { () throws(IOError) in
                    try RevocationContent(of: path, wallMilliseconds: wallMilliseconds)
                }
            } handler: { [unowned self] result in
                endReading(result, path)
            }
        } catch {
            endReading(.failure(error), path)
        }
    }

    private func endReading(_ result: Result<RevocationContent, IOError>, _ path: String) {
        reading = nil
        isBusy = false
        guard let settings else { return }
        switch result {
        case .success(let content):
            take(
                RevocationAnswer(content.document, age: content.age, life: settings.refresh),
                from: .file(path))
        case .failure(let error): take(.none(.failed, "\(error)"), from: .file(path))
        }
    }

    private func take(_ answer: RevocationAnswer, from source: AndroidRevocationSettings.Source) {
        if isOutdated {
            // It may be of another place, or older than what the operator knows of.
            isOutdated = false
            due = loop.now
            return
        }
        switch answer {
        case .list(let list, let document, let age, let life):
            due = loop.now + life
            judge(list, document, age: age, from: source)
        case .none(let outcome, let reason):
            state.fail(outcome, reason)
            failureCount += 1
            var backOff = BackOff()
            (backOff.shortest, backOff.longest) = (.seconds(2), .seconds(300))
            due = loop.now + backOff.delay(failureCount: failureCount, jitter: loop.jitter)
            guard failureCount == 1 else { return }
            log.event(
                level: "warning", "revocation_list_down",
                "trust.android.revocation: \(reason); \(rest)")
        }
    }

    /// The consequence of a list that could not be renewed.
    private var rest: String {
        state.figures?.isInForce(at: loop.now) ?? false
            ? "the list before still counts" : "no Android key can enrol"
    }

    private func judge(
        _ list: RevocationList, _ document: [UInt8], age: Duration,
        from source: AndroidRevocationSettings.Source
    ) {
        let known = listSource == source ? state.list?.count : nil
        // A file's first list is the operator's own, even an empty one.
        let isFirstOfFile = known == nil && source.isFile
        if !isFirstOfFile,
            case .held(let reason, let isNews) = judge.judge(list.count, after: known, at: loop.now)
        {
            state.fail(.implausible, reason)
            guard isNews else { return }
            log.event(
                level: "warning", "revocation_list_implausible",
                "trust.android.revocation: \(reason), so it is not taken unless it stays so for 6 "
                    + "hours; \(rest)")
            return
        }
        if failureCount > 0 {
            log.event(
                level: "info", "revocation_list_up",
                "trust.android.revocation: the list is fetched again")
        }
        failureCount = 0
        listSource = source
        state.take(list, age: age, at: loop.now, isFetched: true)
        if let file, case .url(let url) = source {
            let sentAt = loop.wallMilliseconds - age.components.seconds * 1000
            let kept = KeptRevocations(
                url: url, document: document, fetchedAtMilliseconds: max(sentAt, 0))
            keeper.keep(file.path) { () throws(IOError) in try file.write(kept) }
        }
        tellIgnored(list)
        tellExpiry()
        onList(list, source.place)
    }

    private func tellIgnored(_ list: RevocationList) {
        let count = list.ignoredCount
        guard count != ignoredCountTold else { return }
        ignoredCountTold = count
        guard count > 0 else { return }
        log.event(
            level: "warning", "revocation_list_entries_ignored",
            "trust.android.revocation: the list has \(count) entries with a name that is no serial "
                + "number or a status that is not known, and they refuse no certificate")
    }

    private func tellExpiry() {
        guard let figures = state.figures, figures.entryCount != nil else { return }
        let isExpired = !figures.isInForce(at: loop.now)
        guard isExpired != isExpiryTold else { return }
        isExpiryTold = isExpired
        guard isExpired else { return }
        log.event(
            level: "error", "revocation_list_expired",
            "trust.android.revocation: the list is older than max_age, and no Android key can "
                + "enrol until it is renewed; enrolled keys go on")
    }

    private static let interval = Duration.seconds(1)
}

extension AndroidRevocationSettings.Source {
    fileprivate var isFile: Bool { if case .file = self { true } else { false } }

    /// The URL or the path.
    fileprivate var place: String {
        switch self {
        case .url(let place), .file(let place): place
        case .off: "off"
        }
    }
}
