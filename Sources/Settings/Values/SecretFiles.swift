import Policy

/// A file whose content must stay secret.
public struct SecretFile: Hashable, Sendable {
    /// The setting that names it.
    public let setting: String
    public let path: String
}

extension Settings {
    /// The passwords of stores and of a proxy, and the headers by which the gateway logs in at an
    /// upstream, from the configuration or from elsewhere.
    public var passwords: [String] {
        var passwords: [String?] = []
        passwords.append(apple?.proxyPassword)
        for header in otlp?.headers ?? [] where isCredential(header.name) {
            passwords.append(header.value.utf8.count > wordByteCountMax ? header.value : nil)
        }
        for route in routes {
            let lines = route.requestHeaders.set + route.requestHeaders.add
            passwords += lines.filter { isCredential($0.name) }.map(\.value.literal)
        }
        if case .postgres(let postgres) = registry { passwords.append(postgres.password) }
        if case .redis(let redis) = counters {
            passwords.append(redis.login.password)
            if case .sentinel(let sentinel) = redis.place {
                passwords.append(sentinel.login.password)
            }
        }
        return passwords.compactMap(\.self)
    }

    /// The files with private keys, passwords and other secret keys that the configuration names.
    public var secretFiles: [SecretFile] {
        var files: [SecretFile] = []
        func add(_ setting: String, _ path: String?) {
            if let path { files.append(SecretFile(setting: setting, path: path)) }
        }
        add("secrets.challenge_key_file", secrets.challengeKeyFile)
        add("secrets.pseudonym_key_file", secrets.pseudonymKeyFile)
        for (index, listener) in listeners.enumerated() {
            let name = "listeners[\(index)].tls"
            for certificate in listener.tls?.files ?? [] { add(name, certificate.keyPath) }
            for path in listener.tls?.tickets.keyPaths ?? [] { add("\(name).tickets", path) }
        }
        for (index, route) in routes.enumerated() {
            for path in route.requestHeaders.files { add("routes[\(index)].request_headers", path) }
        }
        add("admin.api.token_file", admin?.api?.tokenPath)
        for certificate in admin?.api?.tls?.files ?? [] {
            add("admin.api.tls", certificate.keyPath)
        }
        for path in admin?.api?.tls?.tickets.keyPaths ?? [] {
            add("admin.api.tls.session_tickets", path)
        }
        for upstream in upstreams {
            add("upstreams.\(upstream.name).tls", upstream.tls?.files?.keyPath)
        }
        if case .postgres(let postgres) = registry {
            add("registry.password_file", postgres.passwordFile)
            add("registry.postgres", postgres.parameters["sslkey"])
        }
        if case .redis(let redis) = counters {
            add("counters.redis", redis.login.passwordPath)
            add("counters.redis.tls", redis.tls?.files?.keyPath)
            if case .sentinel(let sentinel) = redis.place {
                add("counters.redis.sentinel", sentinel.login.passwordPath)
                add("counters.redis.sentinel.tls", sentinel.tls?.files?.keyPath)
            }
        }
        for key in apple?.keys ?? [] { add("apple.keys", key.path) }
        add("device_check.admin_secret_file", deviceCheck?.adminSecretPath)
        for key in identity.keys { add("identity.keys", key.path) }
        for proof in proofs {
            if case .secrets(let path, _)? = proof.secrets {
                add("proofs.\(proof.name).secret_file", path)
            }
        }
        return files
    }
}

/// Whether a header's name is one of those by which programs prove who they are.
private func isCredential(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["authorization", "cookie", "api-key", "apikey", "token", "secret"].contains {
        name.contains($0)
    }
}

/// The bound up to which a value may be a common word, which is not treated as a secret.
private let wordByteCountMax = 11

extension TextTemplate {
    /// The whole text; nil if a part comes from a request, or if it may be a common word.
    fileprivate var literal: String? {
        guard pieces.count == 1, case .literal(let text) = pieces[0],
            text.utf8.count > wordByteCountMax
        else {
            return nil
        }
        return text
    }
}
