import Foundation
import GatewayTesting
import JSON
import Testing

@Suite("The gateway of the tests", .enabled(if: BuiltProgram.isBuilt))
struct HarnessTests {}

extension HarnessTests {
    @Test("gets its next configuration whole, while what has begun to read sees the old one")
    func reload() throws {
        let upstream = try RecordingUpstream()
        var configuration = GatewayConfiguration(upstreamPort: upstream.port)
        let gateway = try GatewayProcess(configuration)
        let before = try String(contentsOfFile: gateway.configurationPath, encoding: .utf8)
        let path = gateway.configurationPath
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let reader = try #require(FileHandle(forReadingAtPath: path))
        configuration.routes.insert(.init("other", path: "/other/*", upstream: "api"), at: 0)
        #expect(try gateway.reload(configuration)["event"]?.stringValue == "reloaded")
        let read = try reader.readToEnd() ?? Data()
        #expect(String(decoding: read, as: UTF8.self) == before)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("/other/*"))
        let rights = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(rights as? Int == 0o640)
    }
}
