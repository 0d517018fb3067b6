import JSON
import Policy
import Settings
import Testing

@Suite("Settings of quotas")
struct QuotaSettingsTests {}

extension QuotaSettingsTests {
    @Test("reads quotas, and prints them so that they read back the same")
    func values() throws {
        let settings = try Configuration().settings(
            """
            quotas:
              daily: { by: key, per: day, limit: 200, of: requests }
              tokens: { by: installation, per: day, limit: 50k, of: { json: /usage/total_tokens } }
              few: { by: app, per: hour, limit: 99, of: { json: /n }, missing: 0, zone: '-03:30' }
              traffic: { by: address, per: month, limit: 2GiB, of: response_bytes, zone: '+01:00' }
            routes:
              - name: a
                path: /a
                upstream: api
                quota: [daily, tokens, few, traffic]
                tell_quota: true
                attest: { mode: enforce }
              - { name: b, path: /b, upstream: api, quota: traffic, attest: { mode: off } }
            """)
        let usage = try #require(JSONPointer("/usage/total_tokens"))
        let number = try #require(JSONPointer("/n"))
        #expect(
            settings.quotas == [
                Quota(
                    name: "daily", subject: .key, period: QuotaPeriod(.day), limit: 200,
                    measure: .requests),
                // A hundredth of the limit, because the configuration says nothing.
                Quota(
                    name: "tokens", subject: .installation, period: QuotaPeriod(.day),
                    limit: 50_000, measure: .json(usage), missingCharge: 500),
                Quota(
                    name: "few", subject: .app, period: QuotaPeriod(.hour, offsetMinutes: -210),
                    limit: 99, measure: .json(number), missingCharge: 0),
                Quota(
                    name: "traffic", subject: .address,
                    period: QuotaPeriod(.month, offsetMinutes: 60), limit: 2 << 30,
                    measure: .responseBytes),
            ])
        #expect(settings.routes.map(\.quotas.count) == [4, 1])
        #expect(settings.routes.map(\.tellsQuotas) == [true, false])
        let printed = SettingsPrinter.text(of: settings)
        #expect(printed.contains("limit: 50k") && printed.contains("zone: \"-03:30\""))
        let again = try Configuration().loader.load(text: printed, fileName: "printed").get()
        #expect(again.settings == settings)
    }

    @Test("charges at least one for an answer without its number, if nothing is said")
    func smallLimit() throws {
        let settings = try Configuration().settings(
            "quotas: { a: { by: address, per: day, limit: 9, of: { json: /n } } }")
        #expect(settings.quotas[0].missingCharge == 1)
    }

    @Test("warns of senders that share one count, and of quotas without use")
    func warnings() throws {
        let warnings = try Configuration().warnings(
            """
            quotas:
              daily: { by: key, per: day, limit: 200 }
              bytes: { by: address, per: day, limit: 1MiB, of: response_bytes }
              users: { by: user, per: day, limit: 9 }
              unused: { by: app, per: day, limit: 200 }
            signals: { user: { header: X-User, from: proxy } }
            listeners:
              - { bind: '127.0.0.1:1', trusted_proxies: ['::1'] }
              - { bind: '127.0.0.1:2', check: { dialect: nginx, from: ['::1'] } }
            routes:
              - { name: a, path: /a, upstream: api, quota: daily, attest: { mode: observe } }
              - { name: b, path: /b, upstream: api, quota: daily, attest: { mode: enforce } }
              - { name: c, path: /c, upstream: api, quota: bytes, attest: { mode: enforce } }
              - { name: d, path: /d, upstream: api, quota: users, attest: { mode: off } }
            """)
        let shared = warnings.filter { $0.contains("share one count") }
        #expect(shared.count == 2)
        #expect(shared[0].contains("routes[0].quota: requests that prove no key"))
        #expect(shared[1].contains("routes[3].quota"))
        #expect(warnings.contains { $0.contains("quotas.unused: no route uses it") })
        #expect(
            warnings.contains { $0.contains("routes[2].quota: \"bytes\" counts nothing at") })
    }
}
