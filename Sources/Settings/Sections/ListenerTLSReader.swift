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
            parameters(&section, &settings.configuration)
            if let field = section.field("session_tickets") { tickets(field, &settings) }
            if let field = section.field("client_certificates") { clients(field, &settings) }
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

    private static func parameters(
        _ section: inout Section, _ configuration: inout TLSServerConfiguration
    ) {
        section.set("min_version", &configuration.minimumVersion) { $0.choice(TLSVersion.self) }
        section.set("ciphers", &configuration.ciphers) { $0.text(TLSCheck.ciphers) }
        section.set("cipher_suites", &configuration.cipherSuites) {
            $0.text(TLSCheck.cipherSuites)
        }
        section.set("groups", &configuration.groups) { $0.text(TLSCheck.groups) }
    }

    private static func tickets(_ field: Field, _ settings: inout ListenerTLSSettings) {
        guard field.isMapping else {
            if let isOn = field.choice([("on", true), ("off", false)]) {
                settings.configuration.hasTickets = isOn
            }
            return
        }
        var tickets = SessionTicketSettings()
        _ = field.section { section in
            section.set("lifetime", &tickets.lifetime) {
                // RFC 8446 section 4.6.1 has seven days as the end.
                $0.duration(.seconds(60), .seconds(7 * 86_400), "whoever has the key reads along")
            }
            if let field = section.field("keys"), let files = field.list(ticketKey) {
                if files.isEmpty { field.error("is empty: leave it out for keys in memory") }
                tickets.keyPaths = files.map(\.path)
                tickets.keys = files.map(\.key)
            }
        }
        settings.tickets = tickets
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

    private static func clients(_ field: Field, _ settings: inout ListenerTLSSettings) {
        guard field.isMapping else {
            _ = field.choice([("off", ())])
            return
        }
        _ = field.section { section in
            let mode = section.required("mode")?.choice([("request", false), ("require", true)])
            let caField = section.required("ca")
            let found = caField?.authorities(revokedIn: section.field("crl"))
            var depth = 2
            section.set("depth", &depth) { $0.count(0...16, "each costs a signature check") }
            guard let mode, let found else { return }
            settings.clientAuthoritiesPath = found.path
            settings.clientRevocationsPath = found.revocationsPath
            settings.configuration.clientCertificates = .init(
                isRequired: mode, authorities: found.authorities, depthMax: depth)
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
