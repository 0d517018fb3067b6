import Attestation
import Background
import Bytes
import EventLoop
import Gateway
import KeyStore
import PostgresKeyStore
import RedisKeyStore
import SQLiteKeyStore
import Settings
import TLS

/// `sallyport doctor`: checks that everything the configuration needs is there and works.
enum DoctorCommand {
    static let usage = """
        usage: sallyport doctor [-c FILE] [--json]

          --json   print one JSON object for each check
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config"], flags: ["--json"], usage: usage)
        arguments.refuseOperands(usage: usage)
        let report = DoctorReport(asJSON: arguments.wantsJSON)
        let path = ConfigurationFile.path(arguments, usage: usage) { problem in
            if arguments.wantsJSON { report.tell(.failure, "configuration", problem) }
        }
        let settings = settings(path, report)
        report.tell(.ok, "configuration", path)
        let requirements = StartRequirements(settings: settings)
        // A user of this machine who can read them can pose as the gateway, or as a server that it
        // speaks to.
        for fault in requirements.openSecrets(configurationPath: path) {
            report.tell(.warning, fault.setting, fault.text)
        }
        for fault in requirements.placeFaults() {
            report.tell(.failure, fault.setting, fault.text)
        }
        for fault in requirements.losses() {
            report.tell(.warning, fault.setting, fault.text)
        }
        addresses(settings, report)
        descriptors(settings, report)
        if settings.trust.hasExtraRoots {
            report.tell(
                .warning, "trust.extra_roots",
                "keys under these roots pass for Apple's; for tests only")
        }
        let developed = settings.developerRoutes
        if !developed.isEmpty {
            report.tell(
                .warning, "developer tokens",
                "accepted by \(developed.joined(separator: ", ")); they prove nothing about an app "
                    + "or a device")
        }
        for listener in settings.tlsListeners {
            guard let tls = listener.tls else { continue }
            report.check("TLS at \(listener.bind)") { try certificates(tls) }
            revocations(
                tls.clientRevocationsPath,
                tls.configuration.clientCertificates?.authorities.revocations, report)
        }
        signatures(settings, requirements, report)
        registry(settings, requirements, report)
        report.check("challenge keys") { try challengeKeys(settings) }
        report.check("pseudonym keys") { try pseudonymKeys(settings) }
        for words in SecretKeyFiles.missingWords(settings) {
            report.tell(.warning, "secrets", words)
        }
        receipts(settings, report)
        signIns(settings, report)
        issuers(settings, report)
        androidRevocations(settings, report)
        counters(settings, report)
        let forwards = settings.listeners.contains { $0.check == nil }
        for upstream in settings.upstreams {
            revocations(
                upstream.tls?.revocationsPath,
                upstream.tls?.configuration.authorities?.revocations, report)
            report.check("upstream \(upstream.name)") {
                forwards ? try reach(upstream) : "not asked, because proxies forward"
            }
        }
        collector(settings, report)
        if report.hasFailures { Exit.with(.failed) }
    }

    /// The settings. With `--json`, problems of the configuration are reported in the same form as
    /// all others.
    private static func settings(_ path: String, _ report: DoctorReport) -> Settings {
        guard report.isJSON else { return ConfigurationFile.loadOrExit(path, warns: true).settings }
        switch ConfigurationFile.load(path) {
        case .success(let loaded):
            for warning in loaded.warnings {
                report.tell(.warning, "configuration", "\(warning)")
            }
            return loaded.settings
        case .failure(let problems):
            for problem in problems.problems {
                report.tell(.failure, "configuration", "\(problem)")
            }
            Exit.with(.configuration)
        }
    }

    private static func certificates(_ tls: ListenerTLSSettings) throws -> String {
        let lines = tls.configuration.certificates.map { certificate in
            let identity = certificate.identity
            let names = identity.names.joined(separator: " ")
            return "\(names) until \(RFC3339.text(identity.notAfter))"
        }
        let isGood = tls.configuration.certificates.allSatisfy { $0.identity.validity == .valid }
        guard isGood else { throw TLSError("not valid now: " + lines.joined(separator: ", ")) }
        return lines.joined(separator: ", ")
    }

    private static func revocations(
        _ path: String?, _ revocations: TLSRevocations?, _ report: DoctorReport
    ) {
        guard let path, let revocations else { return }
        report.check("revocation lists in \(path)") {
            let until = "until \(RFC3339.text(revocations.nextUpdate))"
            guard !revocations.isExpired else {
                throw TLSError("\(until): certificates of their authorities are refused")
            }
            return until
        }
    }

    /// Checks the signature library. Without it the gateway works, only slower, so a named library
    /// that cannot be used is a warning.
    private static func signatures(
        _ settings: Settings, _ requirements: StartRequirements, _ report: DoctorReport
    ) {
        // The user who runs the doctor, perhaps root, must not load a library that any user could
        // replace.
        guard !requirements.isLibraryOpen || !requirements.libraryFaults().isEmpty else {
            return report.tell(
                .warning, "signatures", "not tried: all users can change what would be loaded")
        }
        let batching = SignatureBatching(settings.crypto) { path in
            report.tell(.ok, "crypto.library", SignatureBatching.loadingWords(path))
        }
        report.tell(
            batching.unusable == nil ? .ok : .warning, "signatures", batching.words)
    }

    private static func registry(
        _ settings: Settings, _ requirements: StartRequirements, _ report: DoctorReport
    ) {
        switch settings.registry {
        case .sqlite(let path):
            // The reasons why none can or should be made were reported already.
            guard File.exists(path) || requirements.isRegistryExpected else { return }
            report.check("registry") { try registry(at: path) }
        case .postgres(let postgres):
            let configuration = PostgresRegistryConfiguration(postgres, queueCountMax: 1)
            let erasesKeys = settings.admin?.api != nil
            PostgresCheckup.run(configuration, erasesKeys: erasesKeys) { step in
                report.tell(verdict(step.verdict), "registry \(step.name)", step.text)
            }
        }
    }

    private static func registry(at path: String) throws -> String {
        guard File.exists(path) else { return "\(path) will be created at the first start" }
        let version = try SQLiteAdministration.checkWhole(path: path)
        guard version.found == version.current else {
            return "\(path), version \(version.found): the first start of this program, or its"
                + " first `keys` command, makes it version \(version.current)"
        }
        let registry = try SQLiteAdministration(path: path)
        return "\(path), keys: \(try registry.counts().reduce(0) { $0 + $1.count })"
    }

    private static func verdict(_ verdict: PostgresCheckupStep.Verdict) -> RedisCheckupStep.Verdict
    {
        switch verdict {
        case .ok: .ok
        case .warning: .warning
        case .failure: .failure
        }
    }

    private static func challengeKeys(_ settings: Settings) throws -> String {
        guard let path = settings.secrets.challengeKeyFile else {
            try SecretKeyFiles.readChallengeKeys(for: settings)
            return "kept beside the registry; several gateways need secrets.challenge_key_file"
        }
        return "\(path), keys: \(try SecretKeyFiles.challengeKeys(for: settings).count)"
    }

    private static func pseudonymKeys(_ settings: Settings) throws -> String {
        if let path = settings.secrets.pseudonymKeyFile {
            return "\(path), keys: \(try SecretKeyFiles.pseudonymKeys(for: settings).count)"
        }
        guard case .sqlite = settings.registry else {
            return "derived from the challenge keys, and changing with them"
        }
        try SecretKeyFiles.readPseudonymKeys(for: settings)
        return "kept beside the registry"
    }

    private static func counters(_ settings: Settings, _ report: DoctorReport) {
        guard case .redis(let redis) = settings.counters else {
            return report.tell(.ok, "counters", "embedded: one gateway only")
        }
        do throws(TLSError) {
            RedisCheckup.run(try RedisCounterConfiguration(redis)) { step in
                report.tell(step.verdict, "redis \(step.name)", step.text)
            }
        } catch {
            report.tell(.failure, "redis TLS", "\(error)")
        }
    }

    /// Checks the collector, without which the gateway runs.
    private static func collector(_ settings: Settings, _ report: DoctorReport) {
        guard let otlp = settings.otlp else { return }
        for signal in OTLPCheckup.signals(of: otlp) {
            let name = "collector, \(signal.rawValue)"
            do {
                let failure = try OTLPCheckup.failure(of: signal, at: otlp)
                report.tell(failure == nil ? .ok : .warning, name, failure ?? "takes them")
            } catch {
                report.tell(.warning, name, "\(error)")
            }
        }
    }

    private static func reach(_ upstream: UpstreamSettings) throws -> String {
        for server in upstream.servers {
            try ConnectionProbe.reach(
                server.endpoint.socketAddress(), timeout: upstream.connectTimeout)
        }
        let addresses = upstream.servers.map(\.endpoint.description).joined(separator: ", ")
        return "\(addresses): takes connections"
    }
}
