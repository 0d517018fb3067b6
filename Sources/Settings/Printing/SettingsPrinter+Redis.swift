extension SettingsPrinter {
    static func write(_ redis: RedisSettings, to yaml: inout YAMLText) {
        yaml.mapping("redis") { yaml in
            switch redis.place {
            case .server(let endpoint): yaml.entry("address", text: endpoint.description)
            case .sentinel(let sentinel):
                yaml.mapping("sentinel") { yaml in
                    yaml.entry("addresses", list: sentinel.addresses.map(\.description))
                    yaml.entry("master", text: sentinel.masterName)
                    write(sentinel.login, to: &yaml)
                    if let tls = sentinel.tls { TLSPrinter.write(tls, to: &yaml) }
                }
            case .cluster(let addresses):
                yaml.mapping("cluster") { yaml in
                    yaml.entry("addresses", list: addresses.map(\.description))
                }
            }
            write(redis.login, to: &yaml)
            yaml.entry("database", "\(redis.database)")
            yaml.entry("client_name", text: redis.clientName)
            if let tls = redis.tls { TLSPrinter.write(tls, to: &yaml) }
            yaml.entry("connect_timeout", Quantity.describe(redis.connectTimeout))
            yaml.entry("command_timeout", Quantity.describe(redis.commandTimeout))
            yaml.entry("in_flight_max", "\(redis.inFlightCountMax)")
            yaml.entry("key_lifetime", Quantity.describe(redis.keyLifetime))
            if let wait = redis.wait {
                yaml.mapping("wait") { yaml in
                    yaml.entry("replicas", "\(wait.replicaCount)")
                    yaml.entry("timeout", Quantity.describe(wait.timeout))
                }
            }
        }
    }

    private static func write(_ login: RedisLogin, to yaml: inout YAMLText) {
        if let username = login.username { yaml.entry("username", text: username) }
        if let path = login.passwordPath {
            yaml.entry("password_file", text: path)
        } else if login.password != nil {
            yaml.entry("password", text: passwordMask)
        }
    }
}

extension RedisSettings {
    /// Whether a password was written into the configuration itself.
    var hasPrintedPassword: Bool {
        var logins = [login]
        if case .sentinel(let sentinel) = place { logins.append(sentinel.login) }
        return logins.contains { $0.password != nil && $0.passwordPath == nil }
    }
}
