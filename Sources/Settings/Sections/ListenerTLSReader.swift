import TLS

/// Reads `listeners[].tls`.
enum ListenerTLSReader {
    static func tls(_ field: Field) -> ListenerTLSSettings? {
        field.section { section in
            let certificates = certificates(&section)
            var settings = ListenerTLSSettings(
                files: certificates.map(\.files),
                configuration: TLSServerConfiguration(
                    certificates: certificates.map {
                        .init(identity: $0.identity, staple: $0.staple)
                    }))
            form.read(&section, into: &settings)
            return complete(field, settings)
        } ?? nil
    }

    /// The one beside the other settings first, then those of the list.
    private static func certificates(_ section: inout Section) -> [CertificateReader.Read] {
        let listField = section.field("certificates")
        var certificates: [CertificateReader.Read] = []
        if let first = CertificateReader.certificate(&section, isRequired: listField == nil) {
            certificates.append(first)
        }
        guard let listField, let elements = listField.list() else { return certificates }
        if elements.isEmpty { listField.error("is empty: at least one certificate is needed") }
        for element in elements {
            let read = element.section { CertificateReader.certificate(&$0, isRequired: true) }
            if let read, let read { certificates.append(read) }
        }
        return certificates
    }

    static func write(_ tls: ListenerTLSSettings, to yaml: inout YAMLText) {
        yaml.mapping("tls") { form.write(tls, to: &$0) }
    }

    /// All but the certificates is read from it.
    static var form: Form<ListenerTLSSettings> {
        let start = ListenerTLSSettings(
            files: [], configuration: TLSServerConfiguration(certificates: []))
        let certificate = CertificateReader.form(CertificateFiles(certificatePath: "", keyPath: ""))
        { $0 }
        return Form(start) {
            CertificateReader.form(start) { _ in nil }
            Setting(
                "certificates", .list(certificate.shape),
                "More certificates, for other names or of another kind. The client's server name "
                    + "and its signature algorithms decide."
            ) { tls, yaml in
                yaml.list("certificates", tls.files) { certificate.write($1, to: &$0) }
            }
            TLSParameters.form(
                start, \.configuration.minimumVersion, \.configuration.ciphers,
                \.configuration.cipherSuites, \.configuration.groups)
            Setting(
                "session_tickets", .either([Kind<Bool>.onOff.shape, tickets.shape]), standard: "on",
                "How sessions are resumed. Without keys they are made in memory, shared by the "
                    + "workers, and rotate once a lifetime."
            ) { section, tls in
                if let field = section.field("session_tickets") { readTickets(field, &tls) }
            } write: { tls, yaml in
                guard tls.configuration.hasTickets else {
                    return yaml.entry("session_tickets", "off")
                }
                yaml.mapping("session_tickets") { tickets.write(tls.tickets, to: &$0) }
            }
            Setting(
                "client_certificates", .either([.words(["off"]), clients.shape]), standard: "off",
                "Whether clients show certificates. One that is not good ends the handshake."
            ) { section, tls in
                if let field = section.field("client_certificates") { readClients(field, &tls) }
            } write: { tls, yaml in
                guard tls.configuration.clientCertificates != nil, tls.clientAuthoritiesPath != nil
                else { return yaml.entry("client_certificates", "off") }
                yaml.mapping("client_certificates") { clients.write(tls, to: &$0) }
            }
        }
    }

    private static var tickets: Form<SessionTicketSettings> {
        Form(SessionTicketSettings()) {
            Setting(
                "lifetime", \.lifetime,
                // RFC 8446 section 4.6.1 has seven days as the end.
                .duration(.seconds(60), .seconds(7 * 86_400), "whoever has the key reads along"),
                "How long a session can be resumed.")
            Setting(
                "keys", .list(.path),
                "Files of 80 random bytes, as nginx has them. The first seals, the others still "
                    + "open."
            ) { section, tickets in
                if let field = section.field("keys"), let files = field.list(ticketKey) {
                    if files.isEmpty { field.error("is empty: leave it out for keys in memory") }
                    tickets.keyPaths = files.map(\.path)
                    tickets.keys = files.map(\.key)
                }
            } write: { tickets, yaml in
                if !tickets.keyPaths.isEmpty { yaml.entry("keys", list: tickets.keyPaths) }
            }
        }
    }

    private static func readTickets(_ field: Field, _ settings: inout ListenerTLSSettings) {
        guard field.isMapping else {
            if let isOn = Kind<Bool>.onOff.read(field) { settings.configuration.hasTickets = isOn }
            return
        }
        if let tickets = Kind.section(tickets).read(field) { settings.tickets = tickets }
    }

    private struct TicketKeyFile: Hashable {
        let path: String
        let key: [UInt8]
    }

    private static func ticketKey(_ field: Field) -> TicketKeyFile? {
        guard let (path, bytes) = field.fileContents() else { return nil }
        guard bytes.count == TLSTicketKeys.byteCount else {
            field.error(
                "\"\(path)\" holds \(bytes.count) bytes: \(TLSTicketKeys.byteCount) random ones "
                    + "are a key")
            return nil
        }
        return TicketKeyFile(path: path, key: bytes)
    }

    private static func readClients(_ field: Field, _ settings: inout ListenerTLSSettings) {
        guard field.isMapping else {
            _ = field.choice([("off", ())])
            return
        }
        _ = field.section { section in
            let mode = section.required("mode").flatMap(Self.mode.read)
            let caField = section.required("ca")
            let found = caField?.authorities(revokedIn: section.field("crl"))
            var depth = 2
            section.set("depth", &depth, Self.depth.read)
            guard let mode, let found else { return }
            settings.clientAuthoritiesPath = found.path
            settings.clientRevocationsPath = found.revocationsPath
            settings.configuration.clientCertificates = .init(
                isRequired: mode, authorities: found.authorities, depthMax: depth)
        }
    }

    private static var mode: Kind<Bool> { .words([("request", false), ("require", true)]) }
    private static var depth: Kind<Int> { .count(0...16, "each costs a signature check") }

    private static var clients: Form<ListenerTLSSettings> {
        let start = ListenerTLSSettings(
            files: [], configuration: TLSServerConfiguration(certificates: []))
        return Form(start) {
            Setting(
                "mode", mode.shape, required: true,
                "request: clients without a certificate may come in. require: they may not."
            ) { tls, yaml in
                if let clients = tls.configuration.clientCertificates {
                    mode.write("mode", clients.isRequired, &yaml)
                }
            }
            Setting(
                "ca", shown: \.clientAuthoritiesPath, .path, required: true,
                "Authorities in PEM.")
            Setting(
                "crl", shown: \.clientRevocationsPath, .path,
                "Revocation lists in PEM, of every authority in ca and of every intermediate. "
                    + "Where one is missing or out of date, what its authority issued is refused.")
            Setting(
                "depth", depth.shape, standard: "2",
                "How many intermediates may stand in between."
            ) { tls, yaml in
                if let clients = tls.configuration.clientCertificates {
                    depth.write("depth", clients.depthMax, &yaml)
                }
            }
        }
    }

    /// Has OpenSSL try the whole, where its parts are in order.
    private static func complete(
        _ field: Field, _ settings: ListenerTLSSettings
    ) -> ListenerTLSSettings? {
        guard !settings.files.isEmpty else { return nil }
        do throws(TLSError) {
            let context = try TLSServerContext(
                settings.configuration, ticketKeys: TLSTicketKeys(lifetime: .seconds(60)))
            for index in context.unusedCertificates {
                field.warning(
                    "\"\(settings.files[index].certificatePath)\" is never used: certificates of "
                        + "the same kind before it have all its names")
            }
            return settings
        } catch {
            field.error("\(error)")
            return nil
        }
    }
}
