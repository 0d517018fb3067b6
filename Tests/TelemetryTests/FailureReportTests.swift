import Telemetry
import Testing

@Suite("Reports of failures in apps")
struct FailureReportTests {}

extension FailureReportTests {
    private func parse(_ text: String) -> FailureReport? {
        try? FailureReport(header: Array(text.utf8).span)
    }

    @Test("every part is read, in any order")
    func parts() throws {
        let report = try #require(
            parse(
                "try=3; os=27.1 ;code=invalidKey;\tversion=4.10;phase=attest;"
                    + "app=ABCDE12345.com.example.app"))
        #expect(report.phase == .attest && report.code == .invalidKey)
        guard case .value(let system) = report.system else {
            Issue.record("no system")
            return
        }
        #expect(system.major == 27 && system.minor == 1)
        #expect(report.attempt == .value(3))
        #expect(report.app == .value("ABCDE12345.com.example.app"))
        #expect(report.version == .value("4.10"))
        #expect(report.fault == nil)
    }

    @Test("phase and code suffice, and parts of later versions are left out")
    func least() throws {
        let report = try #require(parse("phase=key;code=offline;later=1"))
        #expect(report.system == .missing && report.attempt == .missing)
        #expect(report.fault == nil)
    }

    @Test(
        "what has another form cannot be read",
        arguments: [
            "", ";", "phase=attest", "code=invalidKey", "phase=attest;code=", "phase=attest;code",
            "phase=attest;code=invalidKey;", "phase=attest;;code=invalidKey",
            "phase=attest;code=invalidKey;phase=attest", "phase=attest;code=\"invalidKey\"",
            "phase=attest;code=invalid key", "phase = attest;code=invalidKey",
            "phase=attest;code=invalidKey;later=1;later=2", "phase=attest;code=inv\u{e4}lid",
            "phase=attest;code=invalidKey;app=a/b",
            "phase=attest;code=invalidKey;x=" + String(repeating: "x", count: 129),
            "phase=attest;code=invalidKey" + String(repeating: ";a=b", count: 130),
        ])
    func unreadable(text: String) {
        #expect(parse(text) == nil)
    }

    @Test("words that nobody knows count as other, and none passes for the gateway's own")
    func others() {
        #expect(parse("phase=dance;code=E1001")?.phase == .other)
        #expect(parse("phase=dance;code=E1001")?.code == .other)
        let liar = parse("phase=invalid;code=invalid")
        #expect(liar?.phase == .other && liar?.code == .other)
        #expect(parse("phase=Attest;code=InvalidKey")?.phase == .other)
        #expect(FailureReport.unreadable.phase == .invalid)
    }

    @Test(
        "a system is two short numbers, in one spelling",
        arguments: [
            ("27.1", "27.1"), ("27", "27.0"), ("26.5.1", "26.5"), ("9.99", "9.99"),
            ("27.0", "27.0"),
            ("0.1", nil), ("027.1", nil), ("27.01", nil), ("100.1", nil), ("27.100", nil),
            ("27.", nil), (".1", nil), ("27..1", nil), ("1.2.3.4", nil), ("27.1b", nil),
            ("-1.0", nil),
        ] as [(String, String?)])
    func systems(text: String, expected: String?) {
        let system = FailureReport.System(Array(text.utf8).span)
        #expect(system?.description == expected)
        let report = parse("phase=key;code=other;os=\(text)")
        #expect(report != nil && (report?.fault == nil) == (expected != nil))
    }

    @Test(
        "attempts are counted from 1 to 99", arguments: ["0", "00", "100", "-1", "x", "01", "1.5"])
    func attempts(text: String) {
        let report = parse("phase=key;code=other;try=\(text)")
        #expect(report?.attempt == .malformed && report?.fault != nil)
    }
}
