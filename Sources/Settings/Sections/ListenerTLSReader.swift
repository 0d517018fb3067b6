import Crypto
import TLS

/// Declares `listeners[].tls`.
enum ListenerTLSReader {
    /// A certificate, its files read.
    private struct Certificate {
        var files = CertificateFiles()
        var loaded: TLSServerConfiguration.Certificate?
    }

    /// The section as it is read.
    private struct TLS {
        var settings = ListenerTLSSettings(
            files: [], configuration: TLSServerConfiguration(certificates: []))
        /// The files beside the other settings.
        var beside = CertificateFiles()
        var listed: [Certificate] = []
    }

    static var kind: Kind<ListenerTLSSettings> {
        Kind.section(form) { section, tls in
            let beside = tls.beside.load(
                &section, isRequired: section.field("certificates") == nil)
            let all = [Certificate(files: tls.beside, loaded: beside)] + tls.listed
            let loaded = all.filter { $0.loaded != nil }
            tls.settings.files = loaded.map(\.files)
            tls.settings.configuration.certificates = loaded.compactMap(\.loaded)
            if loaded.isEmpty || !isComplete(tls.settings, section.place) { section.fail() }
        }.map(
            { $0.settings },
            from: { TLS(settings: $0, listed: $0.files.map { Certificate(files: $0) }) })
    }

    private static var form: Form<TLS> {
        let certificate = Kind.section(
            Form(Certificate()) { CertificateFiles.settings(\.files) }
        ) { section, certificate in
            certificate.loaded = certificate.files.load(&section, isRequired: true)
        }
        return Form(TLS()) {
            CertificateFiles.settings(\.beside)
            Setting(
                "certificates", \.listed,
                .list(all: certificate, empty: "is empty: at least one certificate is needed"),
                "More certificates, for other names or of another kind (RSA beside ECDSA). The "
                    + "client's server name and signature algorithms decide; the certificate "
                    + "beside this list also serves all other clients.")
            TLSParameters.settings(
                \.settings.configuration.minimumVersion, \.settings.configuration.ciphers,
                \.settings.configuration.cipherSuites, \.settings.configuration.groups)
            Setting(
                "session_tickets", \.settings.sessionTickets,
                .words([("on", SessionTicketSettings()), ("off", nil)]).printed { $0 == nil }
                    .or(Kind.section(tickets).optional), standard: "on",
                "How sessions are resumed. Without keys, the gateway makes them in memory and "
                    + "rotates them once a lifetime.")
            Setting(
                "client_certificates", \.settings.clients,
                .words([("off", nil)]).or(ClientCertificates.kind.optional),
                "Certificates of clients. A bad one ends the handshake.")
        }
    }

    private static var tickets: Form<SessionTicketSettings> {
        Form(SessionTicketSettings()) {
            Setting(
                "lifetime", \.lifetime,
                // RFC 8446 section 4.6.1 allows at most seven days.
                .duration(
                    .seconds(60), .seconds(7 * 86_400),
                    "anyone with the key can read the "
                        + "traffic"),
                "How long a session can be resumed.")
            Setting(
                "keys", \.keyPaths,
                Kind<[String]>.list(.path, empty: "is empty: leave it out for keys in memory")
                    .unlessEmpty,
                "Files of 80 random bytes, as for nginx. The first seals; the others still open."
            ) { field, tickets in
                tickets.keys = (field.list(of: .path) ?? []).compactMap(ticketKey)
            }
        }
    }

    private static func ticketKey(_ field: Field) -> Secret? {
        field.secretFile { _, bytes throws(Fault) in
            // A copy, because the bytes of the file are overwritten.
            if bytes.count == TLSTicketKeys.byteCount { return Secret(copying: bytes.span) }
            throw Fault(
                "holds \(bytes.count) bytes: \(TLSTicketKeys.byteCount) random ones are a key")
        }
    }

    /// Has OpenSSL try the settings together, after no part has a fault.
    private static func isComplete(_ settings: ListenerTLSSettings, _ field: Field) -> Bool {
        do throws(TLSError) {
            let context = try TLSServerContext(
                settings.configuration, ticketKeys: TLSTicketKeys(lifetime: .seconds(60)))
            for index in context.unusedCertificates {
                field.warning(
                    "\"\(settings.files[index].certificatePath)\" is never used: certificates of "
                        + "the same kind before it have all its names")
            }
            return true
        } catch {
            field.error("\(error)")
            return false
        }
    }
}

/// `client_certificates` of a listener.
private struct ClientCertificates: Hashable {
    var isRequired = false
    var authoritiesPath = ""
    var revocationsPath: String?
    var depthMax = 2
    var authorities: TLSAuthorities?

    static var kind: Kind<ClientCertificates> {
        let form = Form(ClientCertificates()) {
            Setting(
                "mode", \.isRequired, .words([("request", false), ("require", true)]),
                required: true,
                "request: a client may connect without one. require: it may not.")
            Setting(
                "ca", \.authoritiesPath, .path, required: true,
                "The authorities of clients, in PEM.")
            Setting(
                "crl", optional: \.revocationsPath, .path,
                "Revocation lists in PEM, of every authority in ca and every intermediate. If one "
                    + "is missing or out of date, all certificates of its authority are refused. A "
                    + "reload reads them again.")
            Setting(
                "depth", \.depthMax, .count(0...16, "each costs a signature check"),
                "How many intermediates are allowed.")
        }
        return .section(form) { section, clients in
            clients.authorities = section.good("ca")?.authorities(
                revokedIn: section.good("crl"))
            if clients.authorities == nil { section.fail() }
        }
    }
}

extension ListenerTLSSettings {
    fileprivate var sessionTickets: SessionTicketSettings? {
        get { configuration.hasTickets ? tickets : nil }
        set {
            configuration.hasTickets = newValue != nil
            tickets = newValue ?? tickets
        }
    }

    fileprivate var clients: ClientCertificates? {
        get {
            guard let clients = configuration.clientCertificates, let path = clientAuthoritiesPath
            else { return nil }
            return ClientCertificates(
                isRequired: clients.isRequired, authoritiesPath: path,
                revocationsPath: clientRevocationsPath, depthMax: clients.depthMax,
                authorities: clients.authorities)
        }
        set {
            guard let newValue, let authorities = newValue.authorities else { return }
            clientAuthoritiesPath = newValue.authoritiesPath
            clientRevocationsPath = newValue.revocationsPath
            configuration.clientCertificates = .init(
                isRequired: newValue.isRequired, authorities: authorities,
                depthMax: newValue.depthMax)
        }
    }
}
