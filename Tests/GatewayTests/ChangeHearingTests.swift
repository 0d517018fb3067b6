import EventLoop
import KeyStore
import Settings
import Testing

@testable import Gateway

@Suite("Changes of keys")
struct ChangeHearingTests {}

extension ChangeHearingTests {
    @Test("a gateway hears of them before any worker has a key in its cache")
    func beforeWorkers() throws {
        var settings = Settings()
        settings.log.access = .off
        settings.log.events = .off
        let registry = ScriptedRegistry()
        let listeners = try Listeners(settings)
        defer { listeners.closeUnserved() }
        let gateway = try Gateway(
            LoadedConfiguration(
                settings: settings, challengeKeys: [[UInt8](repeating: 7, count: 32)]),
            listeners: listeners, registry: registry,
            counters: .fresh, floors: FloorTable(),
            version: "test", supervisor: Supervisor(socket: nil, watchdog: nil),
            reload: ConfigurationReader(
                settings: { throw ConfigurationFailure("not asked for") },
                secrets: { LoadedConfiguration(settings: $0, challengeKeys: []) }))
        // It does not run yet, so nothing can be cached.
        #expect(registry.isHeard)
        withExtendedLifetime(gateway) {}
    }
}
