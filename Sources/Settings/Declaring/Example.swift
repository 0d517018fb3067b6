/// The value that ``SettingsExample`` gives to a key, for a gateway with one app and one API.
struct Example {
    /// The value in YAML; nil for a mapping, whose keys have values of their own.
    let value: String?
    /// True if the file would be invalid or of little use without the key.
    let isNeeded: Bool

    private static func needed(_ value: String? = nil) -> Example {
        Example(value: value, isNeeded: true)
    }

    /// A default that cannot stand beside the rest of the file.
    private static var off: Example { Example(value: nil, isNeeded: false) }

    private static func possible(_ value: String) -> Example {
        Example(value: value, isNeeded: false)
    }

    /// The names of the elements of mappings whose keys operators choose.
    static let names = [
        "rate_limits": "attestation", "quotas": "tokens", "upstreams": "api", "proofs": "firebase",
        "signals.keys_per_device_bit.bits": "banned", "routes[].headers": "X-Debug",
        "routes[].attest.min_bundle_version.apps": "ABCDE12345.com.example.app",
    ]

    /// The example of the key at `path`.
    static func value(_ path: String) -> Example? {
        values[path] ?? path.lastIndex(of: ".").flatMap { keys[String(path[$0...].dropFirst())] }
    }

    /// The examples of keys that mean the same wherever they stand.
    private static let keys = [
        "limit": needed("slow"), "username": possible("sallyport"),
        "password": possible("\"${file:/etc/sallyport/password}\""),
    ]

    /// The examples, by the paths of their keys.
    static let values: [String: Example] = listeners.merging(stores) { $1 }.merging(tokens) { $1 }
        .merging(upstreams) { $1 }.merging(routes) { $1 }.merging(attest) { $1 }

    private static let listeners: [String: Example] = [
        "listeners": needed(),
        "listeners[].bind": needed("127.0.0.1:8080"),
        "listeners[].proxy_protocol.from": possible("[10.0.0.0/8]"),
        "listeners[].redirect.to": needed("\"https://{host}{target}\""),
        "listeners[].redirect.except": possible("[/.well-known/acme-challenge/*]"),
        "listeners[].tls.certificate": needed("/etc/sallyport/api.crt"),
        "listeners[].tls.key": needed("/etc/sallyport/api.key"),
        "listeners[].tls.ocsp": possible("/etc/sallyport/api.ocsp"),
        "listeners[].tls.certificates[].certificate": needed("/etc/sallyport/www.crt"),
        "listeners[].tls.certificates[].key": needed("/etc/sallyport/www.key"),
        "listeners[].tls.certificates[].ocsp": possible("/etc/sallyport/www.ocsp"),
        "listeners[].tls.ciphers": possible("ECDHE-ECDSA-AES128-GCM-SHA256"),
        "listeners[].tls.cipher_suites": possible("TLS_AES_128_GCM_SHA256"),
        "listeners[].tls.session_tickets.keys": possible("[/etc/sallyport/ticket-keys]"),
        "listeners[].tls.client_certificates.mode": needed("require"),
        "listeners[].tls.client_certificates.ca": needed("/etc/sallyport/clients-ca.pem"),
        "listeners[].tls.client_certificates.crl": possible("/etc/sallyport/clients.crl"),
        "rate_limits": needed(),
        "rate_limits.NAME.by": needed("address"),
        "rate_limits.NAME.rate": needed("20/s"),
        "rate_limits.NAME.burst": needed("200"),
        "rate_limits.NAME.except": possible("[10.0.0.0/8, 192.168.0.0/16]"),
        "quotas.NAME.by": needed("key"),
        "quotas.NAME.per": needed("day"),
        "quotas.NAME.limit": needed("50k"),
        "quotas.NAME.of.json": needed("/usage/total_tokens"),
        "quotas.NAME.missing": possible("500"),
    ]

    private static let stores: [String: Example] = [
        "apps": needed(),
        "apps[].id": needed("ABCDE12345.com.example.app"),
        "apps[].android": possible("com.example.app"),
        "apps[].signing_digests": possible(
            "[50d858e0985ecc7f60418aaf0cc5ab587f42c2570a884095a9e8ccacd0f6545c]"),
        "apps[].security_level": possible("tee"),
        "apps[].boot_keys": possible("[]"),
        "apps[].patch_age_max": possible("365d"),
        "apple.keys[].key_id": needed("ABC123DEFG"),
        "apple.keys[].team_id": possible("ABCDE12345"),
        "apple.keys[].file": needed("/etc/sallyport/AuthKey_ABC123DEFG.p8"),
        "apple.keys": needed(),
        "apple.ca": possible("/etc/sallyport/proxy-ca.pem"),
        "device_check.team_id": possible("ABCDE12345"),
        "device_check.admin_secret_file": possible("/etc/sallyport/device-check.secret"),
        "registry": needed(),
        "registry.sqlite": needed("/var/lib/sallyport/registry.db"),
        "registry.postgres": possible(
            "postgresql://user@host1,host2/database?sslmode=verify-full"),
        "registry.password_file": possible("/etc/sallyport/database-password"),
        "registry.schema": off, "registry.pool": off, "registry.connect_timeout": off,
        "registry.command_timeout": off, "registry.stale_max": off,
        "counters.redis": needed("rediss://redis.internal:6379/0"),
        "counters.redis.address": needed("\"127.0.0.1:6379\""),
        "counters.redis.sentinel.addresses": needed("[\"10.0.0.1:26379\", \"10.0.0.2:26379\"]"),
        "counters.redis.sentinel.master": needed("main"),
        "counters.redis.sentinel.password_file": possible("/etc/sallyport/sentinel-password"),
        "counters.redis.sentinel.tls": possible("{ ca: /etc/sallyport/redis-ca.pem }"),
        "counters.redis.cluster.addresses": needed("[\"10.0.0.1:6379\", \"10.0.0.2:6379\"]"),
        "counters.redis.password_file": possible("/etc/sallyport/redis-password"),
        "counters.redis.tls": possible("{ ca: /etc/sallyport/redis-ca.pem }"),
        "otlp.endpoint": needed("https://collector.example.com:4318"),
        "otlp.headers": possible("{ Authorization: \"${file:/etc/sallyport/otlp-token}\" }"),
        "otlp.ca": possible("/etc/sallyport/collector-ca.pem"),
        "admin": needed(),
        "capture.directory": needed("/var/lib/sallyport/capture"),
        "admin.bind": needed("127.0.0.1:9464"),
        "admin.probes.bind": needed("127.0.0.1:9465"),
        "admin.api.bind": needed("127.0.0.1:9466"),
        "admin.api.token_file": needed("/etc/sallyport/admin-tokens"),
    ]

    private static let tokens: [String: Example] = [
        "proofs.NAME.preset": needed("firebase_app_check"),
        "proofs.NAME.project": needed("\"123456789012\""),
        "proofs.NAME.issuer": possible("https://issuer.example.com"),
        "proofs.NAME.audience": possible("[api]"),
        "proofs.NAME.algorithms": possible("[RS256, ES256]"),
        "proofs.NAME.jwks": possible("https://issuer.example.com/jwks.json"),
        "proofs.NAME.ca": possible("/etc/sallyport/issuer-ca.pem"),
        "proofs.NAME.secret_file": possible("/etc/sallyport/approov-secret"),
        "proofs.NAME.header": possible("X-Issuer-Token"),
        "proofs.NAME.subjects": possible("[\"1:123456789012:android:0123456789abcdef\"]"),
        "session_tokens.bind_to": possible("Authorization"),
        "secrets.challenge_key_file": needed("/etc/sallyport/challenge-keys"),
        "secrets.pseudonym_key_file": needed("/etc/sallyport/pseudonym-keys"),
        "crypto.library": possible("/usr/local/lib/crypto_mb/libcrypto_mb.so.13"),
        "identity.keys": needed("[/etc/sallyport/identity-1.pem]"),
        "signals.user.header": needed("X-User-Id"),
        "signals.users_per_key.header": possible("Authorization"),
        "signals.users_per_key.cookie": possible("session"),
        "endpoints.rate_limit.attestation_challenge": possible("[challenge, all_attestations]"),
        "endpoints.attest_rollout.start": possible("1%"),
        "endpoints.attest_rollout.until": off, "endpoints.attest_rollout.step": off,
        "endpoints.attest_rollout.every": off, "endpoints.attest_rollout.while_success": off,
        "endpoints.attest_rollout.min_requests": off,
    ]

    private static let upstreams: [String: Example] = [
        "upstreams": needed(),
        "upstreams.NAME.servers": needed("[\"127.0.0.1:9001\"]"),
        "upstreams.NAME.servers[].address": needed("\"10.0.0.2:9001\""),
        "upstreams.NAME.servers[].connections_max": possible("100"),
        "upstreams.NAME.paths.case": needed("exact"),
        "upstreams.NAME.paths.suffixes": needed("exact"),
        "upstreams.NAME.paths.decode": needed("once"),
        "upstreams.NAME.health_check.host": possible("api.internal"),
        "upstreams.NAME.identity.audience": needed("[api]"),
        "upstreams.NAME.retries.timeout": possible("10s"),
        "upstreams.NAME.tls.ca": possible("/etc/sallyport/upstream-ca.pem"),
        "upstreams.NAME.tls.crl": possible("/etc/sallyport/upstream.crl"),
        "upstreams.NAME.tls.server_name": possible("api.internal"),
        "upstreams.NAME.tls.certificate": possible("/etc/sallyport/gateway.crt"),
        "upstreams.NAME.tls.key": possible("/etc/sallyport/gateway.key"),
        "upstreams.NAME.tls.ocsp": possible("/etc/sallyport/gateway.ocsp"),
        "upstreams.NAME.tls.ciphers": possible("ECDHE-ECDSA-AES128-GCM-SHA256"),
        "upstreams.NAME.tls.cipher_suites": possible("TLS_AES_128_GCM_SHA256"),
    ]

    private static let routes: [String: Example] = [
        "routes": needed(),
        "routes[].name": needed("api"),
        "routes[].path": needed("/api/*"),
        "routes[].methods": needed("[POST]"),
        "routes[].hosts": possible("[api.example.com, \"*.api.example.com\"]"),
        "routes[].headers": possible("{ X-Version: \"2\", X-Debug: absent }"),
        "routes[].headers.HEADER.equals": needed("present"),
        "routes[].upstream": needed("api"),
        "routes[].redirect.to": needed("\"https://{host}{target}\""),
        "routes[].respond.status": needed("200"),
        "routes[].respond.body": possible("\"User-agent: *\""),
        "routes[].rewrite.prefix": needed("/v2"),
        "routes[].rewrite.path": possible("/v2/transfer"),
        "routes[].request_headers.remove": possible("[Cookie]"),
        "routes[].request_headers.set": possible("{ X-Real-IP: \"{client_address}\" }"),
        "routes[].request_headers.add": possible("{ X-Seen-By: gateway }"),
        "routes[].request_headers.keep": possible("[Authorization]"),
        "routes[].response_headers.remove": possible("[Server]"),
        "routes[].response_headers.set": possible("{ Cache-Control: no-store }"),
        "routes[].response_headers.add": possible(
            "{ Strict-Transport-Security: max-age=86400 }"),
        "routes[].quota": possible("tokens"),
        "routes[].body_max": possible("1MiB"),
        "routes[].body_rules[].json": needed("/model"),
        "routes[].body_rules[].in": needed("[gpt-x, gpt-y]"),
        "routes[].body_rules[].min": possible("1"),
        "routes[].body_rules[].max": possible("1024"),
        "routes[].body_rules[].required": possible("true"),
        "routes[].limits.body": possible("1MiB"),
        "routes[].limits.body_memory": needed("1MiB"),
        "routes[].timeouts.request": possible("15m"),
        "routes[].timeouts.request_body": possible("5m"),
        "routes[].timeouts.response": possible("10m"),
        "routes[].timeouts.read": possible("1h"),
        "routes[].upgrade": possible("[websocket]"),
    ]

    private static let attest: [String: Example] = [
        "routes[].attest": needed(),
        "routes[].attest.mode": needed("enforce"),
        "routes[].attest.replay.window": needed("64"),
        "routes[].attest.rollout.start": needed("1%"),
        "routes[].attest.on_lower_tier": possible("deny"),
        "routes[].attest.apps": possible("[ABCDE12345.com.example.app]"),
        "routes[].attest.environments": possible("[production]"),
        "routes[].attest.categories.only": possible("[app_store]"),
        "routes[].attest.categories.only_or_missing": needed("[app_store, testflight]"),
        "routes[].attest.min_bundle_version": possible("\"4.2\""),
        "routes[].attest.min_bundle_version.min": needed("\"4.2\""),
        "routes[].attest.min_bundle_version.grace": possible("\"4.0\""),
        "routes[].attest.min_bundle_version.apps": possible(
            "{ ABCDE12345.com.example.app: \"7\" }"),
        "routes[].attest.min_bundle_version.apps.APP_ID.min": needed("\"7\""),
        "routes[].attest.min_bundle_version.apps.APP_ID.grace": possible("\"6\""),
        "routes[].attest.risk.max": needed("3"),
        "routes[].attest.risk.action.tier": needed("token"),
        "routes[].attest.challenge_member": possible("challenge"),
        "routes[].attest.key_id_member": possible("keyId"),
    ]
}
