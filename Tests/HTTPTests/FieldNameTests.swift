import Bytes
import HTTP
import Testing

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

private func contains(_ set: FieldNameSet, _ name: String) -> Bool {
    set.contains(bytes(name).span)
}

private func methodNamed(_ name: String) -> Method { Method(name: bytes(name).span) }

@Suite("Field names")
struct FieldNameTests {}

extension FieldNameTests {
    @Test("are known in any case, and only when the whole name is right")
    func known() {
        #expect(KnownField.allCases.count <= 64)
        for field in KnownField.allCases where field != .other {
            let name = field.name.description
            let upper = bytes(name.uppercased())
            #expect(knownField(bytes(name)) == field)
            #expect(knownField(upper) == field)
            for index in upper.indices {
                var other = upper
                other[index] = other[index] == 0x51 ? 0x5A : 0x51
                #expect(knownField(other) != field)
            }
            let longer = upper + [0x41]
            #expect(knownField(longer) != field)
            let shorter = Array(upper.dropFirst())
            #expect(knownField(shorter) != field)
        }
        #expect(knownField([]) == .other)
        let long = [UInt8](repeating: 0x61, count: 1000)
        #expect(knownField(long) == .other)
        #expect(knownField(long, foldingUnderscores: true) == .other)
    }

    @Test("with underscores are another field, unless folded")
    func underscores() {
        let name = bytes("X_Forwarded-For")
        #expect(knownField(name) == .other)
        #expect(knownField(name, foldingUnderscores: true) == .xForwardedFor)
        let message = bytes("GET / HTTP/1.1\r\nHost: a\r\nx_real_ip: b\r\n\r\n")
        var head = RequestHead()
        #expect(parse(message, with: &head) == .complete)
        #expect(head.fields.map(\.hasUnderscore) == [false, true])
    }

    @Test("of one connection are told from the others")
    func hopByHop() {
        let names = KnownField.allCases.filter(\.isHopByHop).map(\.name.description).sorted()
        #expect(
            names == [
                "connection", "http2-settings", "keep-alive", "proxy-authenticate",
                "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding",
                "upgrade",
            ])
    }

    @Test("that a client must not send are found however they are spelled")
    func reserved() {
        let set = FieldNameSet(
            exact: ["X-Key", "Signature_A"], prefixes: ["x-app-attest-", "x-attest-"])
        for name in [
            "x-key", "X_KEY", "X-kEY", "signature-a", "SIGNATURE_A", "X-App-Attest-Key-Id",
            "x_app_attest_key", "X-App_Attest-", "x-attest-result", "X_ATTEST_RESULT",
            "X.Attest~Result", "x-attest-",
        ] {
            #expect(contains(set, name), "\(name)")
        }
        for name in [
            "", "x", "x-ke", "x-keys", "y-key", "x-attest", "x-app-attest", "x-attestresult",
            "xx-attest-result", "host", "é",
        ] {
            #expect(!contains(set, name), "\(name)")
        }
        let empty = FieldNameSet(exact: [], prefixes: [])
        #expect(!contains(empty, "x"))
    }

    /// Eight bytes are folded at once, the rest one by one: each byte in each place of both.
    @Test(
        "that a client must not send are found by whatever byte stands in them", arguments: 0..<19)
    func everyByte(place: Int) {
        let known = Array("abc-efgh9jkl-nopqr-".utf8)
        let set = FieldNameSet(exact: [String(decoding: known, as: UTF8.self)], prefixes: [])
        for byte in UInt8.min...UInt8.max {
            var name = known
            name[place] = byte
            let folded: UInt8 =
                switch byte {
                case 0x41...0x5A: byte + 0x20
                case 0x30...0x39, 0x61...0x7A: byte
                default: 0x2D
                }
            #expect(set.contains(name.span) == (folded == known[place]), "byte \(byte)")
        }
    }

    /// Lines that are there whole are read at once, others step by step.
    @Test("and values are judged the same whole and in two pieces", arguments: 0..<60)
    func everyByteOfLines(place: Int) {
        let line = Array("Unknown-Field-Name7: a value of more than two words of eight\r\n".utf8)
        let start = bytes("GET / HTTP/1.1\r\nHost: a\r\n")
        for byte in UInt8.min...UInt8.max {
            var changed = line
            changed[place] = byte
            let message = start + changed + bytes("\r\n")
            var whole = RequestHead()
            let outcome = whole.parse(message.span, limits: testLimits)
            var split = RequestHead()
            var splitOutcome = HeadOutcome.incomplete
            for count in [start.count + place, message.count] where splitOutcome == .incomplete {
                splitOutcome = split.parse(
                    message.span.extracting(0..<count), limits: testLimits)
            }
            #expect(
                ReadRequest(whole, outcome, message) == ReadRequest(split, splitOutcome, message),
                "byte \(byte)")
        }
    }
}

@Suite("Faults")
struct HTTPFaultTests {}

extension HTTPFaultTests {
    @Test("have each a code of its own, in snake case")
    func codes() {
        let codes = HTTPFault.allCases.map(\.code.description)
        #expect(Set(codes).count == codes.count)
        #expect(!codes.contains("unknown"))
        for code in codes {
            #expect(code.allSatisfy { $0 == "_" || ($0.isLowercase && $0.isASCII) })
        }
    }

    @Test("are answered with a status that RFC 9110 has a phrase for")
    func statuses() {
        for fault in HTTPFault.allCases {
            #expect(StatusPhrase.text(for: fault.status).description != "Unknown")
        }
        #expect(StatusPhrase.text(for: 401).description == "Unauthorized")
        #expect(StatusPhrase.text(for: 599).description == "Unknown")
        #expect(HTTPFault.connectNotSupported.status == 501)
        #expect(HTTPFault.versionNotSupported.status == 505)
        #expect(HTTPFault.expectationUnknown.status == 417)
    }

    @Test("of methods: safe ones are idempotent, names lead back")
    func methods() {
        for method in Method.allCases where method != .other {
            #expect(methodNamed(method.name.description) == method)
            #expect(!method.isSafe || method.isIdempotent)
        }
        #expect(methodNamed("get") == .other)
        #expect(methodNamed("XXXXXGET") == .other)
        #expect(Method.put.isIdempotent && !Method.post.isIdempotent)
    }
}
