import TLS

/// Reads `upstreams.NAME.tls`.
enum UpstreamTLSReader {
    static func tls(_ field: Field, servers: [Endpoint]) -> UpstreamTLSSettings? {
        field.section { section in
            var settings = UpstreamTLSSettings(
                configuration: TLSClientConfiguration(authorities: nil))
            section.set("verify", &settings.verifies) { $0.choice([("on", true), ("off", false)]) }
            section.set("server_name", &settings.serverName, serverName)
            settings.configuration.authorities = authorities(&section, field, &settings)
            if let read = CertificateReader.certificate(&section, isRequired: false) {
                settings.files = read.files
                settings.configuration.identity = read.identity
            }
            section.set("min_version", &settings.configuration.minimumVersion) {
                $0.choice(TLSVersion.self)
            }
            section.set("ciphers", &settings.configuration.ciphers) { $0.text(TLSCheck.ciphers) }
            section.set("cipher_suites", &settings.configuration.cipherSuites) {
                $0.text(TLSCheck.cipherSuites)
            }
            section.set("groups", &settings.configuration.groups) { $0.text(TLSCheck.groups) }
            section.set("session_reuse", &settings.configuration.resumesSessions) {
                $0.choice([("on", true), ("off", false)])
            }
            if settings.verifies, settings.serverName == nil, servers.contains(where: \.isUnix) {
                field.error("a server at a unix socket needs a server_name to be checked against")
            }
            do throws(TLSError) {
                _ = try TLSClientContext(settings.configuration)
            } catch {
                field.error("\(error)")
            }
            return settings
        }
    }

    private static func serverName(_ field: Field) -> String?? {
        guard let text = field.text() else { return nil }
        do throws(EndpointText.Fault) {
            return .some(try EndpointText.host(text.value[...]))
        } catch {
            field.error("\(text.shown) \(error.message)")
            return nil
        }
    }

    private static func authorities(
        _ section: inout Section, _ field: Field, _ settings: inout UpstreamTLSSettings
    ) -> TLSAuthorities? {
        let caField = section.field("ca")
        let crlField = section.field("crl")
        guard settings.verifies else {
            caField?.error("has no use with verify: off")
            crlField?.error("has no use with verify: off")
            field.warning("verify is off: whoever answers is believed and reads every request")
            return nil
        }
        if let caField {
            guard let read = caField.authorities(revokedIn: crlField) else { return nil }
            settings.authoritiesPath = read.path
            settings.revocationsPath = read.revocationsPath
            return read.authorities
        }
        crlField?.error("needs ca: nobody has the lists of all that the system trusts")
        return field.systemAuthorities()
    }

    /// TLS by the system's authorities, where nothing else is said.
    static func standard(_ field: Field) -> UpstreamTLSSettings? {
        field.systemAuthorities().map { authorities in
            UpstreamTLSSettings(
                configuration: TLSClientConfiguration(authorities: authorities))
        }
    }
}
