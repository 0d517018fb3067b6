import Redis
import Testing

@Suite("A Redis URL")
struct RedisURLTests {
    struct Reading: Sendable {
        let text: String
        let endpoint: RedisEndpoint
        var username: String?
        var password: String?
        var database = 0
    }

    @Test(
        "is taken apart",
        arguments: [
            Reading(text: "redis://localhost", endpoint: .tcp(host: "localhost", port: 6379)),
            Reading(text: "REDIS://localhost/", endpoint: .tcp(host: "localhost", port: 6379)),
            Reading(
                text: "redis://10.0.0.1:7000/15", endpoint: .tcp(host: "10.0.0.1", port: 7000),
                database: 15),
            Reading(
                text: "redis://user:p%40ss%3A%2F%25@cache_1.example:1/2",
                endpoint: .tcp(host: "cache_1.example", port: 1), username: "user",
                password: "p@ss:/%", database: 2),
            Reading(
                text: "redis://:secret@host", endpoint: .tcp(host: "host", port: 6379),
                password: "secret"),
            Reading(
                text: "redis://user@host", endpoint: .tcp(host: "host", port: 6379),
                username: "user"),
            Reading(
                text: "redis://a@b:c@host", endpoint: .tcp(host: "host", port: 6379),
                username: "a@b", password: "c"),
            Reading(
                text: "redis://:a:b@host", endpoint: .tcp(host: "host", port: 6379),
                password: "a:b"),
            Reading(text: "redis://[::1]:6380", endpoint: .tcp(host: "::1", port: 6380)),
            Reading(text: "redis://[fe80::1]", endpoint: .tcp(host: "fe80::1", port: 6379)),
            Reading(
                text: "unix:///run/redis/redis.sock",
                endpoint: .unix(path: "/run/redis/redis.sock")),
            Reading(
                text: "unix://u:p@/run/a%20b?db=3", endpoint: .unix(path: "/run/a b"),
                username: "u", password: "p", database: 3),
        ])
    func reads(reading: Reading) throws {
        let url = try RedisURL(parsing: reading.text)
        #expect(url.endpoint == reading.endpoint)
        #expect(url.username == reading.username)
        #expect(url.password == reading.password)
        #expect(url.database == reading.database)
    }

    @Test(
        "is refused with the reason",
        arguments: [
            ("", .unknownScheme), ("host:6379", .unknownScheme), ("http://host", .unknownScheme),
            ("redis:host", .unknownScheme), ("://", .unknownScheme),
            ("rediss://host", .tlsNotSupported),
            ("redis://", .missingHost), ("redis://:1", .missingHost),
            ("redis://user:pass@", .missingHost), ("redis://[]", .missingHost),
            ("redis://a b", .badHost), ("redis://[::1", .badHost), ("redis://[::1]x", .badHost),
            ("redis://[host]", .badHost), ("redis://h%6Fst", .badHost),
            ("redis://host:", .badPort), ("redis://host:0", .badPort),
            ("redis://host:65536", .badPort), ("redis://host:+1", .badPort),
            ("redis://::1", .missingHost),
            ("redis://host/x", .badDatabase), ("redis://host/0/1", .badDatabase),
            ("redis://host/-1", .badDatabase), ("redis://host/65536", .badDatabase),
            ("redis://u:%zz@host", .badPercentEncoding), ("redis://u:%0@host", .badPercentEncoding),
            ("redis://u:%00@host", .badPercentEncoding),
            ("redis://u:%FF@host", .badPercentEncoding),
            ("redis://host?db=1", .unexpectedFragment), ("redis://host#x", .unexpectedFragment),
            ("redis://:a#b@host", .unexpectedFragment),
            ("unix://", .missingPath), ("unix:///", .missingPath), ("unix://run/x", .missingPath),
            ("unix:///x?database=1", .unknownParameter), ("unix:///x?db=", .badDatabase),
            ("unix:///" + String(repeating: "x", count: 107), .pathTooLong),
        ] as [(String, RedisURLError)])
    func refuses(text: String, reason: RedisURLError) {
        #expect(throws: reason) { try RedisURL(parsing: text) }
    }
}
