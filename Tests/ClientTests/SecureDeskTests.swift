import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "A device of sallyport-lab at a gateway with TLS and other header names",
    .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct SecureDeskTests {}

extension SecureDeskTests {
    private static let settings = "assertion: X-Proof, client_data: X-Said, key_id: X-Proof-Key"
    private static let headers = "assertion=X-Proof,client_data=X-Said,key_id=X-Proof-Key"

    @Test("enrols, and remembers both", arguments: LabDesk.Platform.allCases)
    func enrols(platform: LabDesk.Platform) throws {
        let desk = try LabDesk(platform, isSecure: true, headers: Self.settings)
        let authority = try #require(desk.certificate?.certificatePath)
        let enrolled = try desk.lab(
            desk.enrolment + ["--ca", authority, "--headers", Self.headers])
        try #require(enrolled.status == .exited(0), "\(enrolled.standardError)")
        for url in ["/api/x?a=1", desk.url + "/api/x?a=1"] {
            let sent = try desk.device("request", "PUT", url, "-d", "hello")
            #expect(sent.standardOutput.hasPrefix("HTTP/1.1 200"), "\(sent.standardOutput)")
            let printed = try desk.device("curl", "PUT", url, "-d", "hello")
            let curled = try ChildProcess.run("sh", ["-c", printed.standardOutput])
            #expect(curled.standardOutput == "hello\n", "\(curled.standardError)")
        }
        #expect(desk.upstream.requests.map(\.method) == Array(repeating: "PUT", count: 4))
        #expect(try desk.device("show").standardOutput.contains("gateway: \(desk.url)/\n"))
        let again = try desk.device("enrol")
        try #require(again.status == .exited(0), "\(again.standardError)")
        let service = try SigningService(desk)
        let signed = try service.ask(#"{"method":"GET","url":"\#(desk.url)/api/y"}"#)
        let names = try SigningService.headers(signed).map(\.0).sorted()
        #expect(names == ["X-Proof", "X-Proof-Key", "X-Said"])
        let usual = try desk.device(
            "request", "--headers", "assertion=X-App-Attest-Assertion", "GET", "/api/x")
        #expect(usual.standardError.contains("refused: assertion_"))
    }

    @Test("keeps no key if the certificate is not to be trusted, or has another name")
    func untrusted() throws {
        let desk = try LabDesk(isSecure: true)
        let authority = try #require(desk.certificate?.certificatePath)
        let other = try TestCertificate(in: desk.directory, "other")
        let named = desk.url.replacing("127.0.0.1", with: "localhost")
        for words in [
            ["--ca", other.certificatePath], [], ["--ca", authority, "--gateway", named],
        ] {
            let refused = try desk.lab(desk.enrolment + words)
            #expect(refused.status == .exited(1), "\(words)")
            #expect(refused.standardError.contains("certificate"), "\(refused.standardError)")
        }
        let plain = desk.url.replacing("https", with: "http")
        for (words, reason) in [
            (["--ca", other.keyPath], other.keyPath), (["--ca", "absent.pem"], "absent.pem"),
            (["--ca", authority, "--gateway", plain], "only an https URL"),
            (["--headers", "assertion"], "assertion is not SETTING=NAME"),
            (["--headers", "assertion=a b"], "assertion=a b is not SETTING=NAME"),
            (["--headers", "token=X"], "token is none of"),
            (["--headers", "key_id=X,key_id=Y"], "key_id is there twice"),
            (["--headers", "key_id=X,assertion=x"], "two settings have one name"),
        ] {
            let refused = try desk.lab(desk.enrolment + ["--ca", authority] + words)
            #expect(refused.status == .exited(1), "\(words)")
            #expect(refused.standardError.contains(reason), "\(refused.standardError)")
        }
        #expect(!FileManager.default.fileExists(atPath: desk.state))
    }
}
