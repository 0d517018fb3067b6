import AndroidAttestation
import AndroidAttestationTesting
import Bytes
import Testing

@Suite("Revocation lists")
struct RevocationListTests {}

extension RevocationListTests {
    private static func list(_ entries: [String: String]) throws -> RevocationList {
        let members = entries.sorted { $0.key < $1.key }.map { serial, status in
            #""\#(serial)":{"status":"\#(status)","reason":"KEY_COMPROMISE"}"#
        }
        return try RevocationList(
            parsing: Array(#"{"entries":{\#(members.joined(separator: ","))}}"#.utf8))
    }

    private static func status(
        _ serial: String, in list: RevocationList
    ) throws -> RevocationList.Status? {
        list.status(of: try #require(CertificateSerial(hex: serial)))
    }

    @Test("name serial numbers in hexadecimal without leading zeros, or in decimal")
    func spellings() throws {
        let list = try Self.list([
            "2c8cdddfd5e03bfc": "REVOKED", "c8966fcb2fbb0d7a": "SUSPENDED",
            "6681152659205225093": "REVOKED", "f": "REVOKED",
        ])
        #expect(list.count == 4)
        #expect(try Self.status("2c8cdddfd5e03bfc", in: list) == .revoked)
        #expect(try Self.status("2C8CDDDFD5E03BFC", in: list) == .revoked)
        #expect(try Self.status("002c8cdddfd5e03bfc", in: list) == .revoked)
        #expect(try Self.status("c8966fcb2fbb0d7a", in: list) == .suspended)
        // 6681152659205225093 in hexadecimal, and the same digits as hexadecimal ones.
        #expect(try Self.status("5cb838f1fe157a85", in: list) == .revoked)
        #expect(try Self.status("6681152659205225093", in: list) == .revoked)
        #expect(try Self.status("0f", in: list) == .revoked)
        #expect(try Self.status("2c8cdddfd5e03bfd", in: list) == nil)
        #expect(try Self.status("0", in: list) == nil)
    }

    @Test("refuse the chain of any certificate on them, the root included")
    func chains() throws {
        for provisioning in PhoneProfile.Provisioning.allCases {
            var enrolment = try Enrolment { $0.provisioning = provisioning }
            let serials = try enrolment.verify().serials
            for (index, serial) in serials.enumerated() {
                for status in RevocationList.Status.allCases {
                    enrolment.revocations = try Self.list([serial.hex: status.rawValue])
                    #expect(try enrolment.failure() == .revoked(index: index, status))
                }
            }
            enrolment.revocations = try Self.list(["5a5a": "REVOKED"])
            #expect(try enrolment.code() == "ok")
        }
    }

    @Test("ignore other members, and entries that can match no certificate, which they count")
    func otherStatuses() throws {
        let list = try Self.list(["1": "UNKNOWN", "2": "REVOKED"])
        #expect(list.count == 1 && list.ignoredCount == 1)
        #expect(try Self.status("1", in: list) == nil)
        let longest = String(repeating: "9", count: RevocationList.digitCountMax)
        for entry in [
            #""a":{}"#, #""a":{"status":1}"#, #""a":"REVOKED""#, #""":{"status":"REVOKED"}"#,
            #""-1":{"status":"REVOKED"}"#, #""0x1":{"status":"REVOKED"}"#,
            #""9\#(longest)":{"status":"REVOKED"}"#,
        ] {
            let list = try RevocationList(
                parsing: Array(#"{"entries":{\#(entry),"b":{"status":"REVOKED"}}}"#.utf8))
            #expect(list.count == 1 && list.ignoredCount == 1, "\(entry)")
            #expect(list.revokedSerials == ["b"], "\(entry)")
        }
        let dated = try RevocationList(
            parsing: Array(
                #"{"v":1,"entries":{"a":{"status":"REVOKED","expires":"2020-11-13","c":[1]}}}"#.utf8
            ))
        #expect(try Self.status("a", in: dated) == .revoked)
        let empty = try RevocationList(parsing: Array(#"{"entries":{}}"#.utf8))
        #expect(empty.count == 0)
    }

    @Test("a revocation outweighs a suspension under the other reading of the digits")
    func readings() throws {
        // 16 in decimal is 10 in hexadecimal.
        for (first, second) in [("10", "16"), ("16", "10")] {
            let list = try Self.list([first: "REVOKED", second: "SUSPENDED"])
            #expect(try Self.status("10", in: list) == .revoked)
        }
    }

    @Test("tell the serial numbers of revoked certificates, not of suspended ones")
    func revokedSerials() throws {
        let list = try Self.list(["0A": "REVOKED", "b": "SUSPENDED", "16": "REVOKED"])
        #expect(list.count == 3 && list.revokedSerials == ["10", "16", "a"])
    }

    @Test(
        "in any other form are refused as a whole",
        arguments: [
            (#""#, "JSON that ends too early"), ("[]", "the list has no object \"entries\""),
            ("{}", "the list has no object \"entries\""),
            (#"{"entries":[]}"#, "the list has no object \"entries\""),
        ])
    func malformed(json: String, reason: String) {
        do throws(RevocationListError) {
            _ = try RevocationList(parsing: Array(json.utf8))
            Issue.record("\(json) was read")
        } catch {
            #expect(error.description == reason)
        }
    }

    @Test("are bounded in bytes, entries, digits and depth")
    func bounds() throws {
        #expect(throws: RevocationListError.self) {
            try RevocationList(
                parsing: [UInt8](repeating: 0x20, count: RevocationList.byteCountMax + 1))
        }
        func list(_ count: Int) throws -> RevocationList {
            let members = (0..<count).map { #""\#(String($0, radix: 16))":{"status":"REVOKED"}"# }
            return try RevocationList(
                parsing: Array(#"{"entries":{\#(members.joined(separator: ","))}}"#.utf8))
        }
        #expect(try list(RevocationList.entryCountMax).count == RevocationList.entryCountMax)
        #expect(throws: RevocationListError.tooManyEntries(RevocationList.entryCountMax + 1)) {
            try list(RevocationList.entryCountMax + 1)
        }
        let longest = String(repeating: "9", count: RevocationList.digitCountMax)
        #expect(try Self.list([longest: "REVOKED"]).count == 1)
        #expect(try Self.list([longest + "9": "REVOKED"]).count == 0)
        let deep = String(repeating: "[", count: 9) + String(repeating: "]", count: 9)
        #expect(throws: RevocationListError.self) {
            try RevocationList(
                parsing: Array(#"{"entries":{"a":{"status":"REVOKED","x":\#(deep)}}}"#.utf8))
        }
    }

    @Test("serial numbers are read and written without leading zeros")
    func serials() throws {
        #expect(CertificateSerial(hex: "000A")?.hex == "a")
        #expect(CertificateSerial(hex: "0")?.hex == "0")
        let longest = String(repeating: "f", count: 40)
        #expect(CertificateSerial(hex: longest)?.hex == longest)
        for text in ["", longest + "0", "g", "-1", " 1", "1 "] {
            #expect(CertificateSerial(hex: text) == nil, "\(text)")
        }
    }

    @Test(
        "as published are read", .enabled(if: AndroidVectors.arePresent, AndroidVectors.absent))
    func published() throws {
        let list = try AndroidVectors.revocationList("status-2026-04.json")
        #expect(list.count == 1648 && list.ignoredCount == 0)
        let documented = try AndroidVectors.revocationList("status-documented.json")
        #expect(try Self.status("2c8cdddfd5e03bfc", in: documented) == .revoked)
        #expect(try Self.status("c8966fcb2fbb0d7a", in: documented) == .suspended)
    }
}
