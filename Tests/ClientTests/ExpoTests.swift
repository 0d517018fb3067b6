import ExpoModulesCore
import Foundation
import GatewayTesting
import SallyportExpo
import Testing

@Suite("The client for Expo", .timeLimit(.minutes(30)))
struct ExpoTests {}

extension ExpoTests {
    private static let folder = Repository.path(of: "clients/expo")
    private static let compiled = Result { () throws -> TypeScriptClient in
        let client = try TypeScriptClient(with: ["clients/expo"])
        try client.compile(client.path(of: "clients/expo"))
        return client
    }

    @Test(
        "has a config plugin that adds the entitlement to an app's configuration",
        .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint))
    func plugin() throws {
        let outcome = try ChildProcess.run(
            "node", ["--test", "tests/plugin.test.mjs"], workingDirectory: Self.folder)
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
    }

    @Test(
        "is a package with all that an app needs, which calls the native modules",
        .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint))
    func package() throws {
        let client = try TypeScriptClient(with: [
            "clients/expo", "clients/swift/Sources", "clients/android/src", "LICENSE",
        ])
        let expo = client.path(of: "clients/expo")
        let packed = try ChildProcess.run(
            "bash", ["-c", #"tar -C "$1" -xzf "$("$1/pack.sh" "$1")""#, "bash", expo],
            within: .seconds(10 * ChildProcess.patienceSeconds))
        try #require(packed.status == .exited(0), "\(packed.standardOutput)")
        let outcome = try client.run(
            ["--test", "tests/package.mjs"],
            environment: ["SALLYPORT_PACKAGE": expo + "/package"], in: expo)
        #expect(outcome.status == .exited(0), "\(outcome.standardOutput)")
    }

    @Test(
        "has a module for Android that compiles, and answers",
        .enabled(if: JavaClient.isInstalled, "Java is not installed: scripts/install.sh test"))
    func android() throws {
        let outcome = try JavaClient(with: [Self.folder]).run("ExpoModuleTests")
        #expect(
            outcome.status == .exited(0), "\(outcome.standardOutput)\(outcome.standardError)")
        #expect(outcome.standardOutput.hasSuffix("\n0 failures\n"))
    }

    private func module() -> ModuleDefinition {
        SallyportModule(appContext: AppContext()).definition()
    }

    @Test("has a module for Apple's platforms that keeps a state and a ticket")
    func texts() async throws {
        let module = module()
        for gateway in ["https://one.example", "https://two.example"] {
            #expect(try await module.call("loadState", gateway) as? String == nil)
            _ = try await module.call("saveState", gateway, "state of \(gateway)")
            _ = try await module.call("saveTicket", gateway, "ticket of \(gateway)")
        }
        let gateway = "https://one.example"
        #expect(try await module.call("loadState", gateway) as? String == "state of \(gateway)")
        #expect(try await module.call("loadTicket", gateway) as? String == "ticket of \(gateway)")
        await #expect(throws: Exception.self) { _ = try await module.call("loadState", "") }
    }

    @Test("has a module for Apple's platforms that says the kind of a failure")
    func failures() async throws {
        let module = module()
        #expect(try await module.call("isSupported") as? Bool == false)
        for words in [["generateKey"], ["attestKey", "k", "c"], ["generateAssertion", "k", "{}"]] {
            let failure = await #expect(throws: Exception.self) {
                _ =
                    words.count == 1
                    ? try await module.call(words[0])
                    : try await module.call(words[0], words[1], words[2])
            }
            #expect(failure?.code == "unsupported:featureUnsupported")
        }
        let info = try await module.call("appInfo") as? [String: String]
        #expect(info?.keys.sorted() == ["name", "system", "version"])
    }

    @Test(
        "has pages whose code compiles, as those of the client in TypeScript do",
        .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint),
        arguments: [
            "clients/typescript/README.md", "clients/expo/README.md",
            "docs/client/react-native.md",
        ])
    func pages(page: String) throws {
        let client = try Self.compiled.get()
        let blocks = try ClientPage.blocks(of: page, in: "ts")
        try #require(!blocks.isEmpty)
        let folder = client.path(of: page.replacing("/", with: "-"))
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        // Others import the first block, which makes the client.
        for (index, block) in blocks.enumerated() {
            let name = index == 0 ? "client" : "block\(index)"
            try block.write(toFile: "\(folder)/\(name).ts", atomically: true, encoding: .utf8)
        }
        let configuration = """
            {
              "extends": "../clients/typescript/tsconfig.json",
              "compilerOptions": {
                "noEmit": true, "declaration": false, "rootDir": "..", "baseUrl": "..",
                "paths": {
                  "sallyport-client": ["clients/typescript/build/index.d.ts"],
                  "sallyport-expo": ["clients/expo/build/index.d.ts"]
                }
              },
              "include": ["*.ts", "../clients/expo/stubs/types/modules.d.ts"]
            }
            """
        try configuration.write(
            toFile: folder + "/tsconfig.json", atomically: true, encoding: .utf8)
        try client.compile(folder)
    }
}
