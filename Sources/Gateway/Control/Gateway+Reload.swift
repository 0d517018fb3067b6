import Background
import Crypto
import EventLoop
import Settings

/// The part of a reload that another thread has prepared, so that the control thread waits for no
/// disk and no name server.
struct PreparedReload: Sendable {
    let configuration: LoadedConfiguration
    let servers: ResolvedServers
    /// The addresses that the names of listeners stand for.
    let binds: [Endpoint: Result<SocketAddress, IOError>]

    init(_ configuration: LoadedConfiguration, hub: Hub) throws(ConfigurationFailure) {
        let settings = configuration.settings
        self.configuration = configuration
        servers = try hub.addresses(of: settings.upstreams, within: Gateway.namePatience)
        var binds: [Endpoint: Result<SocketAddress, IOError>] = [:]
        for bind in settings.binds where bind.isName {
            binds[bind] = Result { () throws(IOError) in try bind.socketAddress() }
        }
        self.binds = binds
    }
}

/// The state of reloads.
struct Reload {
    /// The preparation, under way on a thread of its own.
    var call: BlockingCall<Result<PreparedReload, ConfigurationFailure>>?
    /// True if another reload was asked for meanwhile.
    var isDue = false
    /// The files whose change causes a reload; nil if only SIGHUP does.
    let watchedFiles: ConfigurationFiles?
    var watcher: FileWatcher?

    init(watchedFiles: ConfigurationFiles?) { self.watchedFiles = watchedFiles }
}

/// Reloads at SIGHUP, or if files have changed: everything is prepared, then either everything or
/// nothing is put in force.
extension Gateway {
    func beginReload() {
        guard let control else { return }
        guard reload.call == nil else {
            reload.isDue = true
            return
        }
        do {
            try refuseUntimelyReload()
            supervision?.changeBegins("reloading")
            let (reader, current, hub) = (configurationReader, site.settings, hub)
            reload.call = try BlockingCall(name: "reload", loop: control.loop) {
                Result { () throws(ConfigurationFailure) in
                    try PreparedReload(reader.read(inPlaceOf: current), hub: hub)
                }
            } handler: { [unowned self] in
                endReload($0)
            }
        } catch {
            tellFailedReload(ConfigurationFailure(of: error))
        }
    }

    func watchFiles() throws {
        guard let files = reload.watchedFiles else { return }
        reload.watcher = try FileWatcher(files) { [reports] in
            _ = reports.post(.filesChanged($0))
        }
    }

    /// The watcher has seen these files change.
    func filesChanged(_ paths: [String]) {
        guard !isDraining else { return }
        control?.log.event(
            level: "info", "files_changed", "reloading: " + paths.joined(separator: ", "))
        beginReload()
    }

    private func endReload(_ prepared: Result<PreparedReload, ConfigurationFailure>) {
        reload.call = nil
        do {
            try refuseUntimelyReload()
            try take(try prepared.get())
        } catch {
            tellFailedReload(ConfigurationFailure(of: error))
        }
        guard reload.isDue else { return }
        reload.isDue = false
        beginReload()
    }

    private func refuseUntimelyReload() throws(ConfigurationFailure) {
        guard !isDraining else { throw ConfigurationFailure("the gateway is stopping") }
        guard upgrade.step == .none || upgrade.step == .checking else {
            throw ConfigurationFailure("another program is taking over, and reads it anyway")
        }
    }

    private func tellFailedReload(_ failure: ConfigurationFailure) {
        hub.reloads.failed(failure)
        if !isDraining, upgrade.step == .none || upgrade.step == .checking {
            supervision?.changeEnded("\(servingText); the last reload failed: \(failure)")
        }
        control?.log.event(
            level: "error", "reload_failed", "the old configuration stays: \(failure)")
    }

    /// Puts the whole new configuration in force, or throws the reason why not and changes nothing.
    private func take(_ prepared: PreparedReload) throws {
        let settings = prepared.configuration.settings
        let next = try Site(
            settings: settings, challengeKeys: prepared.configuration.challengeKeys.map(\.bytes),
            pseudonymKeys: prepared.configuration.pseudonymKeys.map(\.bytes),
            generation: site.generation + 1, ticketKeys: ticketKeys, rollouts: rolloutRegister,
            issuerKeys: hub.issuerKeys, platforms: PlatformEntry.all(hub.androidRevocations))
        try prepareCapture(settings)
        let appleChange = try apple?.change(to: settings.apple)
        let keySetChange = try lists.keySets?.change(to: settings.proofs)
        let revocationChange = try lists.revocations?.change(to: settings.neededRevocation)
        let exportChange = try observation.exporter?.change(to: settings.otlp)
        try startNameRefresher(for: settings)
        let bound = try listeners.bind(
            settings, generation: next.generation, names: prepared.binds)
        // Nothing below can fail.
        hub.take(settings.upstreams, prepared.servers)
        apple?.use(appleChange)
        observation.exporter?.use(exportChange)
        devices?.use(settings.deviceCheck)
        if let keySetChange { lists.keySets?.use(keySetChange) }
        if let revocationChange { lists.revocations?.use(revocationChange) }
        keepShares(of: site, in: next)
        site = next
        for (index, mailbox) in mailboxes.enumerated() {
            _ = mailbox.post(
                .reload(WorkerUpdate(site: next, listeners: bound[index], reports: reports)))
        }
        controller?.follow(settings.plannedRollouts)
        if let apple {
            receipts?.replace(next.renewal, exchange: AppleReceipts(apple, next.settings.apple))
        }
        supervision?.workersChange(status: servingText)
        announceExceptions()
        examineDescriptors()
        examineCertificates()
        hub.reloads.taken()
        control?.log.event(level: "info", "reloaded", "generation \(next.generation)")
    }
}
