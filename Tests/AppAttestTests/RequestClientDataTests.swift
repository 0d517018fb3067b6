import AppAttestTesting
import Attestation
import Bytes
import Crypto
import Testing

private let emptyDigest = Base64.encode(SHA256.hash([UInt8]()).array)

private func json(
    path: String = "/a", method: String = "POST", digest: String = emptyDigest, extra: String = ""
) -> [UInt8] {
    let known = #""method":"\#(method)","path":"\#(path)","bodySHA256":"\#(digest)""#
    return Array(#"{"challenge":"c",\#(known)\#(extra)}"#.utf8)
}

private func parse(_ text: [UInt8]) throws(ClientDataFailure) -> RequestClientData {
    try RequestClientData(parsing: text.span, byteCountMax: 1024)
}

private func mismatch(
    _ text: [UInt8], target: String, method: String = "POST", body: [UInt8] = []
) throws -> ClientDataMismatch? {
    let method = Array(method.utf8)
    let target = Array(target.utf8)
    return try parse(text).check(
        method: method.span, target: target.span, bodyDigest: SHA256.hash(body))
}

@Suite("Client data of the header shape")
struct RequestClientDataTests {}

extension RequestClientDataTests {
    @Test("reads the members, ignores others")
    func members() throws {
        let keyID = KeyID(digest: SHA256.hash([1]))
        let data = try parse(
            json(extra: #","query":"x=1","keyId":"\#(keyID.base64)","device":{"os":[1,2]}"#))
        #expect(data.challenge?.array == Array("c".utf8))
        #expect(data.method.array == Array("POST".utf8))
        #expect(data.path.array == Array("/a".utf8))
        #expect(data.query?.array == Array("x=1".utf8))
        #expect(data.bodyDigest == SHA256.hash([UInt8]()))
        #expect(data.keyID == keyID)
    }

    @Test("may lack challenge, query and key id")
    func optional() throws {
        let data = try parse(
            Array(#"{"method":"GET","path":"/","bodySHA256":"\#(emptyDigest)"}"#.utf8))
        #expect(data.challenge == nil && data.query == nil && data.keyID == nil)
    }

    @Test(
        "refuses what it cannot compare",
        arguments: [
            ("", "client_data_not_json"), ("[]", "client_data_not_json"),
            ("{}", "client_data_member_missing"),
            (#"{"method":"GET","path":"/"}"#, "client_data_member_missing"),
            (
                #"{"method":"GET","path":"/","bodySHA256":"AA=="}"#,
                "client_data_member_malformed"
            ),
            (
                #"{"method":1,"path":"/","bodySHA256":"\#(emptyDigest)"}"#,
                "client_data_member_malformed"
            ),
            (
                #"{"method":"GET","method":"GET","path":"/","bodySHA256":"\#(emptyDigest)"}"#,
                "client_data_not_json"
            ),
            (
                #"{"method":"GET","path":"/","query":null,"bodySHA256":"\#(emptyDigest)"}"#,
                "client_data_member_malformed"
            ),
            (
                #"{"method":"GET","path":"/","keyId":"x","bodySHA256":"\#(emptyDigest)"}"#,
                "client_data_member_malformed"
            ),
        ])
    func refusals(text: String, code: String) {
        var failure: ClientDataFailure?
        do { _ = try parse(Array(text.utf8)) } catch { failure = error }
        #expect(failure?.code == code)
    }

    @Test("refuses more bytes than allowed")
    func bound() {
        let text = json()
        #expect(throws: ClientDataFailure.self) {
            try RequestClientData(parsing: text.span, byteCountMax: text.count - 1)
        }
    }

    @Test(
        "accepts the raw path and its one decoding",
        arguments: [
            ("/a", "/a"), ("/a", "/a?x=1"), ("/a b", "/a%20b"), ("/a%20b", "/a%20b"),
            ("/ü", "/%C3%BC"), ("/a%2Fb", "/a%252Fb"), ("/a%252Fb", "/a%252Fb"),
            ("/a?x=%31", "/a?x=%31"), ("/a/", "/a/"),
        ])
    func acceptedPaths(signed: String, target: String) throws {
        #expect(try mismatch(json(path: signed), target: target) == nil)
    }

    @Test(
        "never accepts a path that is the same only after normalising",
        arguments: [
            ("/a", "/A"), ("/a", "/a/"), ("/a/", "/a"), ("/a", "//a"), ("/b", "/a/../b"),
            ("/a b", "/a%2520b"), ("/a", "/a%"), ("/a%", "/a%2"), ("/a%zz", "/a%ZZ"),
            ("/a?x=1", "/a?x=%31"), ("/a?x=1", "/a"), ("/a?x=1", "/a?x=1&y=2"),
            ("/a?b", "/a%3Fb"), ("", "/"), ("/a%2fb", "/a%2Fb"), ("/a", "/b"),
        ])
    func refusedPaths(signed: String, target: String) throws {
        #expect(try mismatch(json(path: signed), target: target) == .path)
    }

    @Test(
        "compares a signed query raw",
        arguments: [
            ("x=1", "/a?x=1", nil), ("x=1", "/a?x=2", ClientDataMismatch.query),
            ("x=1", "/a", .query), ("", "/a", nil), ("", "/a?", nil), ("", "/a?x", .query),
            ("x=1", "/a?x=%31", .query), ("x=1", "/a?x=1?", .query), ("a?b", "/a?a?b", nil),
        ])
    func queries(signed: String, target: String, expected: ClientDataMismatch?) throws {
        let text = json(extra: #","query":"\#(signed)""#)
        #expect(try mismatch(text, target: target) == expected)
    }

    @Test("tells another method and another body apart")
    func methodAndBody() throws {
        #expect(try mismatch(json(), target: "/a", method: "PUT") == .method)
        #expect(try mismatch(json(), target: "/a", method: "post") == .method)
        #expect(try mismatch(json(), target: "/a", body: [0]) == .body)
        let digest = Base64.encodeURL(SHA256.hash([1, 2, 3]).array)
        #expect(try mismatch(json(digest: digest), target: "/a", body: [1, 2, 3]) == nil)
    }

    @Test("never traps on damaged text")
    func damaged() {
        var generator = SplitMix64(state: 7)
        let whole = json(extra: #","query":"q","keyId":"AA""#)
        let target = Array("/a%2".utf8)
        for _ in 0..<3000 {
            var text = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                text[Int.random(in: 0..<text.count, using: &generator)] =
                    UInt8.random(in: 0...255, using: &generator)
            }
            text.removeLast(Int.random(in: 0..<text.count, using: &generator))
            _ = try? parse(text).check(
                method: target.span, target: target.span, bodyDigest: .zero)
        }
    }
}
