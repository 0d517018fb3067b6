import Foundation
import Testing

@Suite("Layers")
struct LayerTests {}

extension LayerTests {
    private static let path = "Package.swift"
    private static let manifest = SourceTree.read(path).map { Manifest($0) }

    /// The arrows inside a tier; every other one points to a lower tier.
    private static let sideways: [String: Set<String>] = [
        "CBOR": ["Bytes"],
        "DER": ["Bytes"],
        "HTTP": ["Bytes"],
        "ProxyProtocol": ["Bytes"],
        "Telemetry": ["Bytes"],
        "Redis": ["EventLoop", "TLS"],
        "TLS": ["Crypto", "EventLoop"],
        "HTTPSClient": ["EventLoop", "TLS"],
        "AppAttest": ["Attestation"],
        "AppAttestTesting": ["AppAttest", "Attestation", "AttestationTesting"],
        "Judgement": ["Attestation", "GatewayTokens", "JWT", "KeyStore", "Policy"],
        "KeyStore": ["Attestation"],
        "SQLiteKeyStore": ["KeyStore", "Attestation"],
        "RedisKeyStore": ["KeyStore", "Attestation"],
        "AndroidAttestation": ["Attestation"],
        "AndroidAttestationTesting": ["AndroidAttestation", "Attestation", "AttestationTesting"],
        "Postgres": ["EventLoop"],
        "SQLite": ["EventLoop"],
        "PostgresKeyStore": ["KeyStore", "Attestation"],
        "GatewayTokens": ["Attestation", "KeyStore"],
        "AppleServices": ["AppAttest", "Attestation", "JWT"],
        "Administration": ["Background"],
        "Gateway": ["Administration", "Background"],
        "Settings": [
            "AndroidAttestation", "AppAttest", "Attestation", "AppleServices", "GatewayTokens",
            "JWT", "Policy",
        ],
    ]

    /// The places above `AppAttest` that may name Apple's formats: the registration of the
    /// platform, the settings of apps, Apple's own services, and the commands that explain objects.
    private static let applesPlaces = [
        "Sources/AppAttest", "Sources/AppleServices/", "Sources/sallyport-lab/",
        "Sources/Background/Apple/", "Sources/Background/Receipts/",
        "Sources/Gateway/Site/PlatformTable.swift", "Sources/Gateway/Site/Site.swift",
        "Sources/Gateway/Admin/MetricsPage+Apple.swift",
        "Sources/Settings/Sections/", "Sources/Settings/Values/DeviceCheckSettings.swift",
        "Sources/Settings/Checks/CrossChecks.swift", "Sources/sallyport/CaptureReading.swift",
        "Sources/sallyport/RestrictionLines.swift", "Sources/sallyport/DoctorCommand+Apple.swift",
        "Sources/sallyport/ExplainCommand.swift",
    ]

    /// The tiers that may touch C: the fences, and the commands for their process's own affairs.
    private static let fenceTier = 2
    private static let commandTier = 5
    private static let diagramLineCountMax = 40

    @Test("the manifest lists targets under the tier they belong to")
    func listed() throws {
        let manifest = try #require(Self.manifest)
        #expect(Set(manifest.targets.map(\.tier)) == [0, 1, 2, 3, 4, 5])
        #expect(manifest.tier(of: "Bytes") == 1)
        #expect(manifest.tier(of: "Gateway") == 4)
        #expect(manifest.targets.map(\.tier) == manifest.targets.map(\.tier).sorted())
    }

    @Test("only what is about Apple knows Apple's formats")
    func platforms() {
        let findings = SourceTree.files.flatMap { file -> [Finding] in
            guard file.path.hasPrefix("Sources/"), file.isSwift,
                !Self.applesPlaces.contains(where: file.path.hasPrefix)
            else { return [] }
            return file.lines.enumerated().compactMap { number, line in
                line.hasSuffix("import AppAttest")
                    ? file.finding(line: number + 1, "use the types of Attestation here") : nil
            }
        }
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test("the diagram of docs/architecture.md has the tiers of the manifest, and every folder")
    func diagram() throws {
        let manifest = try #require(Self.manifest)
        let document = try #require(SourceTree.read("docs/architecture.md"))
        let lines = document.lines.drop { !$0.hasPrefix("    ") }.prefix { $0.hasPrefix("    ") }
        #expect(lines.count <= Self.diagramLineCountMax)
        var drawn: [Int: Set<String>] = [:]
        var tier: Int?
        for line in lines {
            // What stands far behind the names is a remark.
            let parts = line.dropFirst(4).split(separator: "    ", omittingEmptySubsequences: false)
            var names = (parts.first ?? "").split(separator: " ").map(String.init)
            if let number = names.first.flatMap({ Int($0) }) {
                tier = number
                names.removeFirst()
            }
            drawn[try #require(tier), default: []].formUnion(names)
        }
        #expect(
            drawn
                == Dictionary(grouping: manifest.targets, by: \.tier).mapValues { targets in
                    Set(targets.map(\.name))
                })
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appendingPathComponent("Sources").path)
        #expect(Set(folders) == Set(manifest.targets.map(\.name)))
    }

    @Test("every dependency points to a lower tier")
    func downward() throws {
        let manifest = try #require(Self.manifest)
        var findings: [Finding] = []
        for target in manifest.targets {
            for dependency in target.dependencies {
                let tier = manifest.tier(of: dependency)
                if let tier, tier < target.tier { continue }
                if Self.sideways[target.name]?.contains(dependency) == true { continue }
                let place = tier.map { "tier \($0)" } ?? "no tier"
                findings.append(
                    Finding(
                        path: Self.path, lineNumber: target.lineNumber,
                        message: "\(target.name) (tier \(target.tier)) may not depend on "
                            + "\(dependency) (\(place)): arrows point down"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("only the fences of tier 2 depend on C, and only they and commands import it")
    func fences() throws {
        let manifest = try #require(Self.manifest)
        var findings: [Finding] = []
        for target in manifest.targets where target.tier != Self.fenceTier {
            for dependency in target.dependencies where manifest.tier(of: dependency) == 0 {
                findings.append(
                    Finding(
                        path: Self.path, lineNumber: target.lineNumber,
                        message: "\(target.name) depends on \(dependency): only tier 2 touches C"))
            }
        }
        for file in SourceTree.swiftFiles {
            guard let target = file.target.map(String.init), let tier = manifest.tier(of: target)
            else { continue }
            for (lineNumber, module) in file.imports {
                let isLibc = module == "Glibc" && tier != Self.commandTier
                guard tier != Self.fenceTier, isLibc || manifest.tier(of: module) == 0 else {
                    continue
                }
                findings.append(
                    file.finding(
                        line: lineNumber, "\(target) imports \(module): only tier 2 touches C"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no target above the fences takes an unsafe step, and the compiler looks at each for one")
    func memory() throws {
        let manifest = try #require(Self.manifest)
        let settings = SourceTree.read(Self.path)?.text.components(separatedBy: "// MARK: tests")
        let plain = settings?.first?.components(separatedBy: "swiftSettings: common").count
        // The function of the tests, which stands before the list.
        #expect(plain == 2, "\(Self.path): a target of the program lacks strict memory safety")
        let findings = SourceTree.swiftFiles.flatMap { file -> [Finding] in
            guard let target = file.target, let tier = manifest.tier(of: String(target)),
                tier > Self.fenceTier, file.mentions(["unsafe"])
            else { return [] }
            return file.code.lines.enumerated().filter { $0.element.contains(/\bunsafe\b/) }.map {
                file.finding(
                    line: $0.offset + 1, "\(target) takes an unsafe step: that is for tiers 1 and 2"
                )
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("every dependency in the manifest is imported by a source of its target")
    func used() throws {
        let manifest = try #require(Self.manifest)
        #expect(manifest.tests.contains { $0.name == "TidyTests" })
        var findings: [Finding] = []
        for target in manifest.targets + manifest.tests where !target.dependencies.isEmpty {
            let sources = SourceTree.swiftFiles.filter { $0.path.hasPrefix(target.folder + "/") }
            let imported = Set(sources.flatMap(\.imports).map(\.module))
            for dependency in target.dependencies where !imported.contains(dependency) {
                findings.append(
                    Finding(
                        path: Self.path, lineNumber: target.lineNumber,
                        message: "\(target.name) depends on \(dependency), which no file of "
                            + "\(target.folder) imports"))
            }
        }
        #expect(findings.isEmpty, "\(report(findings))")
    }

    @Test("no placeholder stands beside real code")
    func placeholders() {
        let swiftFiles = SourceTree.swiftFiles.map(\.path)
        let findings = swiftFiles.filter { $0.hasSuffix("/Placeholder.swift") }
            .filter { path in
                let folder = path.dropLast("Placeholder.swift".count)
                return swiftFiles.contains { $0 != path && $0.hasPrefix(folder) }
            }
            .map { Finding(path: $0, lineNumber: 1, message: "delete it: real code is here") }
        #expect(findings.isEmpty, "\(report(findings))")
    }
}
