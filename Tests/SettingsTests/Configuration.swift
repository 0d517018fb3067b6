import Bytes
import Crypto
import Foundation
import Settings
import Testing

/// Loads texts with an invented environment and invented files.
struct Configuration {
    var environment: [String: String] = [:]
    var files: [String: String] = [:]
    var processorCount = 4

    /// What a text needs besides what it is about.
    private static let required = [
        "listeners": "[{ bind: '127.0.0.1:8080' }]",
        "apps": "[{ id: ABCDE12345.com.example.app }]",
        "registry": "{ sqlite: /r.db }",
        "upstreams": "{ api: { servers: ['127.0.0.1:9001'] } }",
        "routes": "[{ name: all, path: '/*', upstream: api, attest: { mode: enforce } }]",
    ]

    /// `text` with the required keys that it lacks behind it.
    static func completed(_ text: String) -> String {
        let keys = Set(text.split(separator: "\n").map { $0.prefix { $0 != ":" } })
        var lines = [text]
        for (key, value) in required.sorted(by: { $0.key < $1.key })
        where !keys.contains(Substring(key)) {
            lines.append("\(key): \(value)")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    var loader: SettingsLoader {
        SettingsLoader(
            processorCount: processorCount, environment: { environment[$0] },
            fileReader: { path in
                files[path].map { .success(Array($0.utf8)) }
                    ?? .failure(FileReadFailure("No such file or directory"))
            })
    }

    func load(_ text: String) -> Result<LoadedSettings, ConfigurationProblems> {
        loader.load(text: Self.completed(text), fileName: "f")
    }

    func settings(_ text: String) throws -> Settings { try load(text).get().settings }

    /// `line:column: message` each.
    func problems(_ text: String) -> [String] {
        switch load(text) {
        case .success: []
        case .failure(let problems): problems.problems.map { String($0.description.dropFirst(2)) }
        }
    }

    func warnings(_ text: String) throws -> [String] {
        try load(text).get().warnings.map { String($0.description.dropFirst(2)) }
    }

    static let golden = Configuration(
        files: [
            "/secret": "hunter2", "/two-lines": "hunter2\nhunter3\n", "/empty.pem": "",
            "/garbage.pem": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ])

    static let repository = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    static func file(_ path: String) throws -> String {
        try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }

    /// The commented configuration and the examples.
    static let shipped: [String] = {
        let examples = try? FileManager.default.contentsOfDirectory(
            atPath: repository.appending(path: "conf/examples").path)
        return ["conf/sallyport.yaml"] + (examples ?? []).sorted().map { "conf/examples/\($0)" }
    }()

    /// On a machine that has the files which the shipped ones name.
    static func onReadyMachine() throws -> Configuration {
        var configuration = Configuration()
        configuration.files["/etc/sallyport/AuthKey_ABC123DEFG.p8"] = try keyPEM()
        configuration.files["/etc/sallyport/device-check.secret"] = "sixteen-letters!"
        configuration.files["/etc/sallyport/provider-key"] = "sk-of-the-provider"
        configuration.files["/etc/ssl/cert.pem"] = try rootPEM()
        return configuration
    }

    /// A root's certificate in PEM.
    static func rootPEM() throws -> String {
        let key = try ECPrivateKey.generate(.p256)
        let builder = CertificateBuilder(
            subject: ["CN": "Root"], key: .ec(key), notBefore: 0, notAfter: 4_000_000_000,
            extensions: [])
        let certificate = try builder.certificate(issuer: .itself, signingKey: key)
        return String(decoding: try certificate.pem(), as: UTF8.self)
    }

    /// A private key of Apple's form.
    static func keyPEM() throws -> String {
        String(decoding: try P256PrivateKey.generate().pem(), as: UTF8.self)
    }

    /// Every key, each with another value than its default.
    static let everyKey = """
        workers: auto
        rate_limits:
          first_limit: { by: global, rate: 30/m }
          first.key: { by: key, rate: 1000/h, burst: 7 }
          challenge: { by: address, rate: 1/s, burst: 1000000, except: [192.0.2.0/24, '::1'] }
        quotas:
          first.q: { by: user, per: week, limit: 2GiB, of: response_bytes, zone: '-03:30' }
          first_q: { by: address, per: hour, limit: 5k, of: { json: /a/b }, missing: 0 }
        forwarded: both
        listeners:
          - bind: EXAMPLE.com:80
            redirect:
              to: "https://{host}{target}"
              status: 308
              except: [/.well-known/acme-challenge/*, /alive]
            allow: [dot_segments, empty_segments, encoded_slash, backslash, path_parameters,
              encoded_control]
            trusted_proxies: [10.0.0.0/8, 192.0.2.1, 'FD00:0::/8']
            proxy_protocol: { from: [10.1.0.0/16, 'fd00::1'] }
            rate_limit: first_limit
            problem_detail: true
            protocols: [h2, http/1.1]
          - bind: '[0::1]:0'
          - bind: unix:/run/s.sock
            trusted_proxies: [unix]
        apps:
          - id: ABCDE12345.com.example.app
            environments: [development]
            macos: { require_full_security: true }
          - { id: ABCDE12345.com.example.b, environments: [development, production] }
        apple:
          keys: [{ key_id: ABC123DEFG, file: /key.p8 }]
          authorization: bearer
          proxy: http://proxy.example:3128
          ca: /root.pem
          connect_timeout: 1s
          timeout: 2s
          in_flight_max: 3
          hosts:
            attestation_data: { production: 'https://h:1', development: 'https://h:2' }
            device_check: { production: 'https://h:3', development: 'https://h:4' }
        device_check:
          team_id: ABCDE12345
          environments: [development, production]
          rate: 7/m
          in_flight_max: 3
          token_memory: 2h
          bits: { bit0: first, bit1: first_other }
        trust: { extra_roots: [/root.pem], clock_skew: 0s, android: { extra_roots: [/root.pem] } }
        proofs:
          first:
            preset: firebase_app_check
            project: '12'
            jwks: https://issuer.example/jwks?x
            ca: /root.pem
            header: X-P
            tier: token
            subjects: [a, b]
          first_two:
            issuer: i
            audience: [a, b]
            algorithms: [ES256, RS256]
            jwks: http://127.0.0.1:1/
            header: X-Q
        registry: { sqlite: ./r.db }
        counters:
          redis:
            address: h:1
            database: 3
            username: u
            password: p/w
            client_name: gateway
            tls: { ca: /root.pem }
            connect_timeout: 2s
            command_timeout: 10ms
            in_flight_max: 7
            key_lifetime: 2h
            wait: { replicas: 2, timeout: 5ms }
          floors_directory: /run/floors
          on_floors_unkept: refuse
        key_cache: { records: 1 }
        challenge: { ttl: 1s, attestation_ttl: 3d }
        secrets: { challenge_key_file: keys, pseudonym_key_file: names }
        crypto: { batch: off, library: mb.so, audit: 2% }
        signals:
          user: { header: X-User, from: proxy, retention: 1d }
          keys_per_user: { max: 2, window: 1m, action: { limit: first.key } }
          new_key_per_user: { window: 2m, action: deny }
          keys_per_address: { max: 3, window: 3m, action: deny }
          attestations_per_address: { max: 4, window: 4m, action: { limit: first_limit } }
          conflicts_per_key: { max: 5, window: 5m, action: deny }
          users_per_key: { max: 6, window: 8m, action: { limit: first.key }, header: X-Account }
          addresses_per_key: { max: 7, window: 9m, action: deny }
          networks_per_key: { max: 8, window: 10m, action: { limit: first_limit } }
          counter_gaps: { max: 9, window: 11m, action: deny }
          keys_per_attestation_certificate: { max: 10, window: 12m, action: deny }
          successions_per_installation: { max: 11, window: 13m, action: deny }
          keys_per_device_bit:
            token: required
            bits: { first: { max: 0, window: 6m, action: deny }, first_other: { window: 7m } }
          subjects: 1024
        identity: { keys: [/key.p8], issuer: me, subject: pseudonym, tokens: 2048 }
        endpoints:
          base: /device
          body_max: 12KiB
          rate_limit:
            challenge: off
            attestation_challenge: [challenge]
            attestation: [challenge, first_limit]
          attest_rollout:
            start: 2%
            until: 50%
            step: +3%
            every: 2h
            while_success: 99%
            min_requests: 7
            guard: { refused_max: 0%, window: 1m, min_requests: 1, action: step_back }
            retry_after: 1s
        receipts:
          renew: off
          rate: 3/m
          interval: 2d
          jitter: 0s
          retry: { shortest: 2s, longest: 2m, unauthorized: 61s, failed: 3m, not_found: 2h }
          lease: 7s
        capture: { directory: /captured, size_max: 1MiB }
        session_tokens: { ttl: 10s, bind_to: Authorization }
        developer_tokens: { max_ttl: 365d, revoked: [ci, 0123456789abcdef] }
        headers: { assertion: X-A, client_data: X-B, key_id: X-C, token: X-T, device_check: X-D }
        upstreams:
          first.one-1_:
            servers:
              - '[::1]:1'
              - unix:/u
              - { address: 'h:2', weight: 1000, backup: true, connections_max: 7 }
            balance: hash_key
            paths: { case: ignore, suffixes: ignore, decode: twice }
            connect_timeout: 10ms
            send_timeout: 101ms
            response_timeout: 100ms
            read_timeout: 1d
            idle_timeout: 1h
            slow_start: 30s
            idle_connections_max: 0
            connections_max: 1
            requests_per_connection: 3
            queue: { requests: 9, timeout: 100ms }
            ejection: { failures: 0, window: 1s, time: 1h, time_max: 1d, share_max: 0% }
            health_check:
              path: /health?x=y
              host: api.example:80
              interval: 100ms
              timeout: 10ms
              rises: 100
              falls: 1
              status: 204
            retries: { attempts: 0, budget: 100%, timeout: 10ms }
            resolve_interval: off
            tls: { ca: /root.pem, server_name: n, min_version: 1.3 }
            identity: { audience: [a, b], header: X-Attest-Voucher, ttl: 10s, per: request }
            protocol: h2
            http2:
              concurrent_streams: 10000
              stream_window: 64KiB
              connection_window: 16MiB
              ping_interval: 1h
          first.two: { servers: ['h:1'], paths: { case: exact, suffixes: exact, decode: once } }
        routes:
          - name: a
            path: /a
            methods: [GET, M-SEARCH, PRI_2]
            upstream: first.one-1_
            body_max: 0B
            problem_detail: true
            rate_limit: [first_limit, first.key]
            quota: [first.q, first_q]
            tell_quota: true
            attest:
              mode: enforce
              apps: [ABCDE12345.com.example.b]
              client_data: body
              challenge: off
              replay: durable
              rollout: 0%
              accept: [token, assertion, 'proof:first']
              on_missing: pass
              on_invalid: { limit: first_limit }
              on_store_failure: tokens_only
              min_tier: attested
              on_lower_tier: { limit: first.key }
              environments: [development]
              categories: { only_or_missing: [testflight, app_store] }
              min_bundle_version:
                min: '4.10'
                grace: 4.2
                missing: outdated
                apps:
                  ABCDE12345.com.example.b: 7
                  ABCDE12345.com.example.app: { min: 9, grace: 8 }
              risk: { max: 3, action: { limit: first.key } }
              challenge_member: c
              key_id_member: k
          - name: b
            path: '/b%2a/'
            upstream: first.two
            body_max: 1025B
            upgrade: [websocket]
            attest: { mode: observe, apps: any, challenge: off, replay: durable }
          - name: c
            path: /a%20b/*
            hosts: [API.example.com., '*.Example.org', '[::1]']
            headers: { X-Version: "2", X-Debug: present, x-old: absent, X-W: { equals: absent } }
            upstream: first.one-1_
            allow_weaker: true
            attest:
              mode: enforce
              apps: [ABCDE12345.com.example.b, ABCDE12345.com.example.app]
              body: claimed
              replay: { window: 1024 }
              accept: [assertion, developer]
              on_missing: { limit: challenge }
              on_store_failure: { limit: first_limit }
              environments: [production]
              categories: { only: [os, development, enterprise, developer_id, other] }
              min_bundle_version: '120'
              risk: { max: 1000000, action: { tier: token } }
            rewrite: { prefix: /v2 }
            upstream_host: in.example:81
            request_headers:
              remove: [Cookie]
              set: { X-Real-IP: "{client_address}", X-Braces: "{{a} {request_id}" }
              add: { X-Via: "{host}" }
            response_headers: { remove: [server], set: { X-Key: "{key_id}" }, add: { X-A: b } }
            limits: { body_memory: 2KiB }
            timeouts: { response: 2s, request_body: 3s, read: 4s, request: off }
          - name: d
            path: /login
            upstream: first.one-1_
            rewrite: { path: /auth }
            request_body: stream
            on_client_close: cancel
            attest: { mode: off }
          - name: e
            path: /old/*
            redirect: { to: "https://{host}:81{target}", status: 308 }
            attest: { mode: off }
          - name: f
            path: /teapot
            respond: { status: 418, body: 'a "b"', content_type: text/html }
            attest: { mode: observe, apps: any }
          - name: g
            path: /grown
            upstream: first.two
            attest:
              mode: enforce
              apps: any
              rollout:
                start: 100%
                step: x100
                every: 31d
                while_success: 1%
                guard: { window: 7d }
        admin:
          bind: localhost:9464
          hosts: [status.example.com, '*.corp.example']
          probes: { bind: '[::]:9465' }
        log: { access: off, events: ./events.log, keys: off, format: text, sample: 10% }
        otlp:
          endpoint: https://collector.example:4318/in
          headers: { Authorization: plain, X-Scope: "1" }
          ca: /root.pem
          metrics_interval: 1m
          sample: 7%
          span_limit: 30/m
        limits:
          connections: 1
          connections_per_address: 100
          requests_per_address: 50
          head: 1MiB
          fields: 10
          target: 256B
          body: 64GiB
          body_memory: 1025B
          temporary_directory: /var/tmp
          response_head: 1KiB
          response_buffer: 4KiB
          requests_per_connection: 1
          client_data: 256B
          registry_queue: 1
          registry_log: 64MiB
          body_rate_min: 1KiB/s
          response_rate_min: 0B/s
          http2:
            concurrent_streams: 10000
            stream_window: 64KiB
            connection_window: 16MiB
            resets: 1
            pings: 2
        timeouts:
          backlog: 2s
          request_head: 100ms
          request_body: 10m
          body_grace: 1s
          idle: 1h
          send: 61s
          registry: 1m
          body_file: 2s
          http2_settings: 5m
          drain_delay: 1s
          drain: 0s
          tunnel_drain: 1h
          response_grace: 2s
          upgrade: 0s
          tls_handshake: 2s
          request: 1h
          tunnel: 1s
        """
}
