import Foundation
import Settings
import Testing

@Suite("The shipped configurations")
struct ShippedConfigurationTests {}

extension ShippedConfigurationTests {
    @Test("load without an error or a warning", arguments: Configuration.shipped)
    func load(path: String) throws {
        let text = try Configuration.file(path)
        let configuration = try Configuration.onReadyMachine()
        switch configuration.loader.load(text: text, fileName: path) {
        case .success(let loaded): #expect(loaded.warnings.isEmpty)
        case .failure(let problems): Issue.record("\(problems)")
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 102 })
    }

    @Test("tell editors where their schema is", arguments: Configuration.shipped)
    func schema(path: String) throws {
        let line = try #require(try Configuration.file(path).split(separator: "\n").first)
        let prefix = "# yaml-language-server: $schema="
        try #require(line.hasPrefix(prefix))
        let schema = Configuration.repository.appending(path: path).deletingLastPathComponent()
            .appending(path: String(line.dropFirst(prefix.count))).standardizedFileURL
        let meant = Configuration.repository.appending(path: "conf/sallyport.schema.json")
        #expect(schema.path == meant.standardizedFileURL.path)
    }

    @Test("are all there")
    func count() {
        #expect(Configuration.shipped.count == 16)
    }

    @Test("show the defaults of the code")
    func defaults() throws {
        let text = try Configuration.file("conf/sallyport.yaml")
        let settings = try Configuration().loader.load(text: text, fileName: "f").get().settings
        let defaults = Settings()
        #expect(settings.limits == defaults.limits)
        #expect(settings.timeouts == defaults.timeouts)
        #expect(settings.trust == defaults.trust)
        #expect(settings.counters == defaults.counters)
        #expect(settings.keyCache == defaults.keyCache)
        #expect(settings.challenge == defaults.challenge)
        #expect(settings.secrets == defaults.secrets)
        #expect(settings.endpoints == defaults.endpoints)
        #expect(settings.headers == defaults.headers)
        #expect(settings.log == defaults.log)
        #expect(
            settings.upstreams == [
                UpstreamSettings(name: "api", servers: [.tcp(host: "127.0.0.1", port: 9001)])
            ])
    }

    @Test("mention every key that is printed")
    func mentioned() throws {
        let text = try Configuration.file("conf/sallyport.yaml")
        var configuration = Configuration()
        configuration.files["/root.pem"] = try Configuration.rootPEM()
        configuration.files["/key.p8"] = try Configuration.keyPEM()
        let printed = SettingsPrinter.text(of: try configuration.settings(Configuration.everyKey))
        // Names of upstreams, of bits, of headers and of apps are no keys.
        for line in printed.split(separator: "\n")
        where !line.contains(/^#|^ +first|^ +[xX]-|^ +ABCDE12345/) {
            let key = line.drop { $0 == " " || $0 == "-" }.prefix { $0 != ":" }
            #expect(text.contains("\(key):"), "\(key)")
        }
    }

    @Test("changed at random end in settings or in problems with places")
    func mutations() throws {
        let text = Array(try Configuration.file("conf/sallyport.yaml").utf8)
        var random = SplitMix(state: 0x5A11_1904)
        let inserts = ["\t", "${", "}", "[", "- ", ": ", "\"", "*", "\n", "0", "ms", "\u{e9}", "#"]
            .map { Array($0.utf8) }
        var refusedCount = 0
        for _ in 0..<400 {
            var changed = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let start = Int.random(in: 0..<changed.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: changed[start] = UInt8.random(in: .min ... .max, using: &random)
                case 1:
                    changed.insert(
                        contentsOf: inserts.randomElement(using: &random) ?? [], at: start)
                case 2: changed.removeSubrange(start..<min(changed.count, start + 9))
                default: changed.removeSubrange((start / 2 + changed.count / 2)...)
                }
            }
            switch Configuration().loader.load(text: changed, fileName: "f") {
            case .success: break
            case .failure(let failure):
                refusedCount += 1
                #expect(!failure.problems.isEmpty)
                #expect(failure.problems.allSatisfy { $0.line >= 1 && $0.column >= 1 })
            }
        }
        #expect(refusedCount > 100)
    }
}

/// Reproducible randomness.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
