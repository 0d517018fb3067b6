import AppAttestTesting
import Bytes
import Crypto
import Foundation
import GatewayTesting
import Testing

/// Configurations that are wrong at the start or at a reload.
@Suite("A gateway with a wrong configuration", .timeLimit(.minutes(30)))
struct FaultConfigurationTests {}

extension FaultConfigurationTests {
    private static let right = """
        listeners:
          - bind: 127.0.0.1:PORT
        apps:
          - id: ABCDE12345.com.example.app
        registry: { sqlite: DIRECTORY/registry.db }
        upstreams:
          api: { servers: ["127.0.0.1:9"] }
        routes:
          - name: all
            path: /*
            upstream: api
            attest: { mode: enforce }

        """

    private static func write(_ text: String, in directory: ScratchDirectory) throws -> String {
        try directory.write(
            text.replacingOccurrences(of: "DIRECTORY", with: directory.path)
                .replacingOccurrences(of: "PORT", with: "\(FreePort.find())"),
            to: "wrong.yaml")
    }

    @Test("is refused with code 78 and every error with its place, and makes no file")
    func positions() throws {
        let directory = try ScratchDirectory()
        let path = try Self.write(
            Self.right.replacingOccurrences(of: "mode: enforce", with: "mode: enforced")
                .replacingOccurrences(of: "upstream: api", with: "upstream: apis")
                .replacingOccurrences(of: "registry:", with: "registri:"), in: directory)
        for command in ["run", "check"] {
            let outcome = try BuiltProgram.run([command, "-c", path])
            #expect(outcome.status == .exited(78))
            let lines = outcome.standardError.split(separator: "\n")
            // Below each error stand its line and a caret.
            #expect(lines.allSatisfy { $0.hasPrefix(path + ":") || $0.hasPrefix("  ") })
            for place in [":5:1:", ":11:15:", ":12:21:"] {
                #expect(lines.contains { $0.hasPrefix(path + place) }, "\(outcome.standardError)")
            }
            #expect(outcome.standardError.contains("registry"), "did you mean")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
    }

    @Test(
        "is refused with code 78, whatever the file is",
        arguments: [
            "", "\0", "a: [", "{", "- - -", "a: &x 1\nb: *x", "!!binary x", "\u{FEFF}", "%YAML 9.9",
            "listeners: 1", "listeners: {}", "a: b: c", "\"", "? x", "\t",
            String(repeating: "[", count: 100_000), String(repeating: "a: ", count: 1000),
            "a: ${NOT_SET_ANYWHERE}", "a: ${file:/does/not/exist}", "a: ${", "---\n---\n",
            "workers: 99999999999999999999", "workers: -1",
        ])
    func nonsense(text: String) throws {
        let directory = try ScratchDirectory()
        let path = try directory.write(text, to: "wrong.yaml")
        let outcome = try BuiltProgram.run(["check", "-c", path])
        #expect(outcome.status == .exited(78))
        #expect(outcome.standardError.hasPrefix(path + ":"), "\(outcome.standardError)")
    }

    @Test("of random bytes is refused with code 78")
    func random() throws {
        let directory = try ScratchDirectory()
        var generator = SeededGenerator(41)
        for _ in 0..<20 {
            var bytes = Array(try Self.text(Self.write(Self.right, in: directory)).utf8)
            for _ in 0..<3 {
                let index = Int.random(in: bytes.indices, using: &generator)
                bytes[index] = UInt8.random(in: 0...255, using: &generator)
            }
            let path = try directory.write(bytes, to: "wrong.yaml")
            let outcome = try BuiltProgram.run(["check", "-c", path])
            #expect(
                [.exited(78), .exited(0)].contains(outcome.status), "\(outcome.standardError)")
        }
        let bytes = (0..<4000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let path = try directory.write(bytes, to: "wrong.yaml")
        #expect(try BuiltProgram.run(["check", "-c", path]).status == .exited(78))
    }

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    @Test("that is missing, or names a root or a key file that is missing or none, says which")
    func files() throws {
        let directory = try ScratchDirectory()
        let missing = try BuiltProgram.run(["run", "-c", directory.path(of: "none.yaml")])
        #expect(missing.status == .exited(78))
        #expect(missing.standardError.contains("none.yaml"))
        #expect(missing.standardError.lowercased().contains("no such file"))
        try directory.write("no certificate\n", to: "empty.pem")
        for (line, words) in [
            ("trust: { extra_roots: [DIRECTORY/none.pem] }", ["none.pem", "no such file"]),
            ("trust: { extra_roots: [DIRECTORY/empty.pem] }", ["empty.pem"]),
            ("trust: { extra_roots: [DIRECTORY] }", ["directory"]),
        ] {
            let path = try Self.write(Self.right + line + "\n", in: directory)
            let outcome = try BuiltProgram.run(["run", "-c", path])
            #expect(outcome.status == .exited(78), "\(line) \(outcome.standardError)")
            for word in words {
                #expect(
                    outcome.standardError.lowercased().contains(word), "\(outcome.standardError)")
            }
        }
    }

    @Test("whose challenge key is missing or none says so, and exits with 1")
    func challengeKey() throws {
        let directory = try ScratchDirectory()
        try directory.write("short\n", to: "short.key")
        try directory.write("", to: "empty.key")
        for name in ["none.key", "short.key", "empty.key"] {
            let path = try Self.write(
                Self.right + "secrets: { challenge_key_file: DIRECTORY/\(name) }\n", in: directory)
            let outcome = try BuiltProgram.run(["run", "-c", path])
            #expect(outcome.status == .exited(1))
            #expect(outcome.standardError.contains(name), "\(outcome.standardError)")
        }
    }

    @Test("whose port is taken names it, exits with 1, and spoils nothing")
    func portInUse() throws {
        let site = try FaultSite()
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let used = try device.call("strict", at: gateway)
        #expect(try used.exchange(with: gateway).status == 200)
        let unused = try device.call("strict", at: gateway)
        try gateway.terminate()
        for (port, count) in [(gateway.port, 1), (gateway.adminPort, 2)] {
            let other = try RecordingUpstream(port: port)
            for _ in 0..<count {
                let outcome = try BuiltProgram.run(["run", "-c", gateway.configurationPath])
                #expect(outcome.status == .exited(1))
                #expect(
                    outcome.standardError.contains(
                        "127.0.0.1:\(port): address already in use by process "
                            + "\(ProcessInfo.processInfo.processIdentifier) ("),
                    "\(outcome.standardError)")
            }
            other.stop()
            _ = try gateway.poll(whileClosed: port)
        }
        // The state of the clean stop is still there.
        try gateway.start()
        #expect(try used.exchange(with: gateway).verdict == "401 assertion_replayed")
        #expect(try unused.exchange(with: gateway).status == 200)
    }

    @Test("at a reload is refused, and the old one stays")
    func brokenReload() throws {
        let site = try FaultSite()
        // One of the texts below has two.
        site.configuration.workers = 1
        let gateway = try site.start()
        let good = try Self.text(gateway.configurationPath)
        let device = try site.enrolledDevice(at: gateway)
        let taken = try RecordingUpstream()
        let broken: [(text: String, words: [String])] = [
            ("", []), ("a: [", ["sallyport-\(gateway.port).yaml:"]),
            (good.replacingOccurrences(of: "mode: off", with: "mode: of"), ["mode"]),
            (good.replacingOccurrences(of: "workers: 1", with: "workers: 2"), ["workers"]),
            (good.replacingOccurrences(of: "registry.db", with: "other.db"), ["registry"]),
            (good.replacingOccurrences(of: "root.pem", with: "none.pem"), ["none.pem"]),
            (
                good.replacingOccurrences(
                    of: "counters: embedded", with: "counters: { redis: \"redis://127.0.0.1:9\" }"),
                ["counters"]
            ),
            (
                good.replacingOccurrences(
                    of: "apps:", with: "  - bind: 127.0.0.1:\(taken.port)\napps:"),
                ["127.0.0.1:\(taken.port)"]
            ),
            (
                good + "secrets: { challenge_key_file: \(site.directory.path)/none.key }\n",
                ["none.key"]
            ),
        ]
        for (text, words) in broken {
            let outcome = "\(try gateway.reload(text: text))"
            #expect(outcome.contains("reload_failed"), "\(outcome)")
            for word in words { #expect(outcome.contains(word), "\(outcome)") }
            let call = try device.call("strict", at: gateway)
            #expect(try call.exchange(with: gateway).status == 200)
            #expect(try gateway.exchange("GET", "/open/x").status == 200)
        }
        #expect("\(try gateway.reload(text: good))".contains("reloaded"))
        #expect(gateway.isUnharmed)
    }

    @Test("mended at a reload is taken whole, and no request in flight is dropped")
    func goodReload() throws {
        let gate = Gate()
        let old = try RecordingUpstream { request in
            request.target == "/open/slow" ? .response(after: gate, body: "slow") : .response()
        }
        let new = try RecordingUpstream { _ in .response(body: "new") }
        let site = try FaultSite(upstream: old)
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let signedBefore = try device.call("window", at: gateway)
        // In flight over the reload: a request that waits for its upstream, one whose body is
        // half there, an idle connection, and a signed one.
        let waiting = try gateway.connect()
        try waiting.send("GET", "/open/slow")
        try old.waitForRequests(1)
        let uploading = try gateway.connect()
        try uploading.send("POST /open/up HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
        let idle = try gateway.connect()
        #expect(try idle.exchange("GET", "/open/x").bodyText == "hello\n")

        let second = FreePort.find()
        var changed = site.configuration
        changed.upstreams["api"] = "servers: [\"127.0.0.1:\(new.port)\"]"
        changed.routes.append(.init("added", path: "/added"))
        changed.routes.removeAll { $0.name == "strict" }
        changed.listenerMore = ["allow: []"]
        changed.more.append("challenge: { ttl: 1m }")
        let text = try Self.text(gateway.configurationPath)
        #expect(!text.isEmpty)
        #expect("\(try gateway.reload(changed))".contains("reloaded"))
        // An exchange keeps the configuration that it began with.
        gate.open()
        #expect(try waiting.receive().bodyText == "slow")
        try uploading.send("def")
        let uploaded = try uploading.receive()
        #expect(uploaded.status == 200)
        #expect(try idle.exchange("GET", "/open/x").bodyText == "new")
        #expect(try gateway.exchange("GET", "/added").bodyText == "new")
        #expect(try gateway.exchange("POST", "/strict/it").status == 404)
        #expect(try signedBefore.exchange(with: gateway).status == 200)

        // Another listener, and then the first one gone.
        var moved = try Self.text(gateway.configurationPath).replacingOccurrences(
            of: "apps:", with: "  - bind: 127.0.0.1:\(second)\napps:")
        #expect("\(try gateway.reload(text: moved))".contains("reloaded"))
        #expect(try RawClient(port: second).exchange("GET", "/open/x").status == 200)
        let kept = try gateway.connect()
        #expect(try kept.exchange("GET", "/open/x").status == 200)
        moved = moved.replacingOccurrences(
            of: "  - bind: 127.0.0.1:\(gateway.port)\n    allow: []\n", with: "")
        #expect("\(try gateway.reload(text: moved))".contains("reloaded"))
        #expect(try RawClient(port: second).exchange("GET", "/open/x").status == 200)
        #expect(try kept.exchange("GET", "/open/x").status == 200, "its connections live on")
        #expect(throws: (any Error).self) { try gateway.connect() }
        #expect(gateway.isUnharmed)
        #expect(try gateway.terminate() == .exited(0))
    }

    @Test("reloaded again and again under load drops nothing", arguments: [2])
    func reloadUnderLoad(workers: Int) throws {
        let site = try FaultSite()
        site.configuration.workers = workers
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let calls = try gateway.challenges(120).map { try device.call("window", challenge: $0) }
        let configurations = [site.configuration, site.configuration].enumerated().map {
            index, configuration in
            var configuration = configuration
            if index == 1 { configuration.routes.append(.init("extra", path: "/extra")) }
            return configuration
        }
        let port = gateway.port
        let queue = WorkQueue(count: calls.count)
        let outcomes = try inParallel(4) { thread in
            guard thread > 0 else {
                return try (0..<12).map { round in
                    "\(try gateway.reload(configurations[round % 2]))".contains("reloaded")
                }
            }
            let client = try RawClient(port: port)
            var outcomes: [Bool] = []
            while let index = queue.next() {
                outcomes.append(try client.exchange("GET", "/open/x").status == 200)
                outcomes.append(try calls[index].exchange(on: client).status == 200)
            }
            return outcomes
        }
        #expect(outcomes.joined().allSatisfy { $0 })
        #expect(site.seenBodies.count == calls.count)
        #expect(gateway.isUnharmed)
    }

    @Test("whose challenge keys are rotated takes challenges of both keys, then of the new one")
    func rotation() throws {
        let site = try FaultSite()
        let keys = (0..<2).map { _ in Base64.encode(RandomBytes.bytes(32)) }
        let path = try site.directory.write(keys[0] + "\n", to: "challenge-keys")
        site.configuration.more.append("secrets: { challenge_key_file: \(path) }")
        let gateway = try site.start()
        let device = try site.enrolledDevice(at: gateway)
        let before = try (0..<2).map { _ in try device.call("window", at: gateway) }
        try site.directory.write(keys[1] + "\n" + keys[0] + "\n", to: "challenge-keys")
        #expect("\(try gateway.reload(site.configuration))".contains("reloaded"))
        let between = try device.call("window", at: gateway)
        #expect(try before[0].exchange(with: gateway).status == 200)
        try site.directory.write(keys[1] + "\n", to: "challenge-keys")
        #expect("\(try gateway.reload(site.configuration))".contains("reloaded"))
        #expect(try between.exchange(with: gateway).status == 200)
        #expect(try before[1].exchange(with: gateway).verdict == "401 challenge_expired")
        try site.directory.write("garbage\n", to: "challenge-keys")
        #expect("\(try gateway.reload(site.configuration))".contains("reload_failed"))
        #expect(
            try device.call("window", at: gateway).exchange(with: gateway).status == 200)
    }
}

extension GatewayProcess {
    /// Waits until nobody listens on `port` any more.
    fileprivate func poll(whileClosed port: UInt16) throws -> Bool {
        let limit = ChildProcess.deadline
        while Date() < limit {
            guard (try? RawClient(port: port)) != nil else { return true }
            _ = Foundation.poll(nil, 0, 5)
        }
        throw FaultSiteError("port \(port) is still taken")
    }
}
