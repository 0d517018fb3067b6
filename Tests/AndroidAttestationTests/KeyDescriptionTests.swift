import AndroidAttestation
import AndroidAttestationTesting
import Attestation
import Bytes
import Crypto
import DER
import Testing

@Suite("Key descriptions")
struct KeyDescriptionTests {}

extension KeyDescriptionTests {
    /// A description whose lists are given as they are encoded.
    private static func description(
        version: Int64 = 300, software: [UInt8] = [], hardware: [UInt8] = []
    ) -> [UInt8] {
        DERWriter.sequence([
            DERWriter.integer(version), DERWriter.enumerated(1), DERWriter.integer(version),
            DERWriter.enumerated(1), DERWriter.octetString([1]), DERWriter.octetString([]),
            DERWriter.element(0x30, software), DERWriter.element(0x30, hardware),
        ])
    }

    private static func read(
        _ value: [UInt8]
    ) -> Result<KeyDescription, KeyDescriptionMalformation> {
        do throws(KeyDescriptionMalformation) {
            return .success(try KeyDescription(parsing: value.span))
        } catch {
            return .failure(error)
        }
    }

    @Test("say what the phone wrote")
    func contents() throws {
        let known: [[UInt8]] = [
            DERWriter.context(1, DERWriter.set([DERWriter.integer(3), DERWriter.integer(2)])),
            DERWriter.context(2, DERWriter.integer(3)),
            DERWriter.context(3, DERWriter.integer(256)),
            DERWriter.context(5, DERWriter.set([DERWriter.integer(4), DERWriter.integer(0)])),
            DERWriter.context(10, DERWriter.integer(1)), DERWriter.context(503, DERWriter.null),
            DERWriter.context(504, DERWriter.integer(2)),
            DERWriter.context(505, DERWriter.integer(30)), DERWriter.context(600, DERWriter.null),
            DERWriter.context(701, DERWriter.integer(1_700_000_000_123)),
            DERWriter.context(702, DERWriter.integer(0)),
            DERWriter.context(705, DERWriter.integer(150_000)),
            DERWriter.context(706, DERWriter.integer(202_501)),
            DERWriter.context(718, DERWriter.integer(20_250_101)),
            DERWriter.context(719, DERWriter.integer(20_250_105)),
            DERWriter.context(724, DERWriter.octetString([5])),
        ]
        let value = Self.description(hardware: known.flatMap { $0 })
        let description = try Self.read(value).get()
        let list = description.hardwareEnforced
        #expect(description.attestationVersion == 300 && description.keyMintVersion == 300)
        #expect(description.attestationChallenge == [1])
        #expect(list.purposes == [3, 2] && list.algorithm == 3 && list.keySize == 256)
        #expect(list.digests == [4, 0] && list.ecCurve == 1 && list.isWithoutUserAuthentication)
        #expect(list.userAuthType == 2 && list.authTimeout == 30 && list.isForAllApplications)
        #expect(list.creationDateTime == 1_700_000_000_123 && list.origin == 0)
        #expect(list.osVersion == 150_000 && list.osPatchLevel == 202_501)
        #expect(list.vendorPatchLevel == 20_250_101 && list.bootPatchLevel == 20_250_105)
        #expect(list.moduleHash == [5] && !list.hasDeviceIdentifiers)
        #expect(description.softwareEnforced.purposes.isEmpty)
    }

    @Test("skip unknown tags, whatever they hold")
    func unknownTags() throws {
        for content in [[], [0xFF], DERWriter.null, DERWriter.integer(1) + DERWriter.null] {
            let value = Self.description(
                hardware: DERWriter.context(4, content) + DERWriter.context(16_000, content))
            #expect(throws: Never.self) { try Self.read(value).get() }
        }
    }

    @Test("refuse what is not the one encoding of a known tag")
    func malformed() {
        let bad: [(UInt32, [UInt8])] = [
            (1, DERWriter.integer(2)), (1, DERWriter.sequence([DERWriter.integer(2)])),
            (1, DERWriter.set([DERWriter.null])), (2, []), (2, DERWriter.enumerated(3)),
            (2, [0x02, 0x00]), (2, [0x02, 0x02, 0x00, 0x03]), (2, [0x02, 0x81, 0x01, 0x03]),
            (2, [0x02, 0x09, 0, 1, 2, 3, 4, 5, 6, 7, 8]), (503, DERWriter.integer(0)),
            (503, [0x05, 0x01, 0x00]), (600, []), (704, DERWriter.sequence([])),
            (709, DERWriter.octetString([])), (709, DERWriter.sequence([])),
            (710, DERWriter.integer(1)), (714, DERWriter.integer(1)), (724, DERWriter.null),
            (702, DERWriter.integer(0) + DERWriter.null),
        ]
        for (tag, content) in bad {
            let value = Self.description(hardware: DERWriter.context(Int(tag), content))
            #expect(
                Self.read(value) == .failure(.authorization(tag: tag)), "\(tag): \(content)")
        }
    }

    @Test("name each tag once, in order, as constructed elements of the context")
    func tags() {
        let two = DERWriter.context(2, DERWriter.integer(3))
        let three = DERWriter.context(3, DERWriter.integer(256))
        #expect(
            Self.read(Self.description(hardware: two + two)) == .failure(.duplicate(tag: 2)))
        #expect(Self.read(Self.description(hardware: three + two)) == .failure(.tagOrder))
        #expect(Self.read(Self.description(software: three + two)) == .failure(.tagOrder))
        for list in [[0x82, 1, 3], [0x02, 1, 3], [0xA2], [0xBF, 0x02, 3, 2, 1, 3]] as [[UInt8]] {
            #expect(
                Self.read(Self.description(hardware: list))
                    == .failure(.part("an authorization list")))
        }
    }

    @Test("take a TRUE of 0x01, and no other BER")
    func booleans() {
        func root(_ flag: [UInt8], version: Int64 = 2, hash: [UInt8]? = nil) -> [UInt8] {
            let fields = [DERWriter.octetString([1]), flag, DERWriter.enumerated(0)]
            return Self.description(
                version: version,
                hardware: DERWriter.context(
                    704, DERWriter.sequence(fields + (hash.map { [$0] } ?? []))))
        }
        func isLocked(_ value: [UInt8]) -> Bool? {
            (try? Self.read(value).get())?.hardwareEnforced.rootOfTrust?.isDeviceLocked
        }
        #expect(isLocked(root([1, 1, 0xFF])) == true)
        #expect(isLocked(root([1, 1, 0x01])) == true)
        #expect(isLocked(root([1, 1, 0x00])) == false)
        for flag: [UInt8] in [[1, 1, 2], [1, 0], [1, 2, 0, 0], [2, 1, 1], [1, 0x81, 1, 1]] {
            #expect(isLocked(root(flag)) == nil, "\(flag)")
        }
        // The hash came with version 3.
        #expect(isLocked(root([1, 1, 0xFF], version: 3)) == nil)
        let hash = DERWriter.octetString([9])
        #expect(isLocked(root([1, 1, 0xFF], version: 3, hash: hash)) == true)
        #expect(isLocked(root([1, 1, 0xFF], version: 2, hash: hash)) == true)
        #expect(isLocked(root([1, 1, 0xFF], version: 3, hash: hash + [5, 0])) == nil)
        #expect(isLocked(root([1, 1, 0xFF], version: 3, hash: DERWriter.null)) == nil)
    }

    @Test("name packages in UTF-8 and digests of 32 bytes, at least one of each")
    func applications() {
        func id(_ packages: [[UInt8]], _ digests: [[UInt8]], _ rest: [UInt8] = []) -> [UInt8] {
            DERWriter.sequence([DERWriter.set(packages), DERWriter.set(digests), rest])
        }
        func package(_ name: [UInt8], _ version: [UInt8] = DERWriter.integer(1)) -> [UInt8] {
            DERWriter.sequence([DERWriter.octetString(name), version])
        }
        let digest = DERWriter.octetString(androidDigest.array)
        let name = package(Array("a.b".utf8))
        let whole = AttestationApplicationID(parsing: id([name, name], [digest]).span)
        #expect(whole?.packages.map(\.name) == ["a.b", "a.b"])
        #expect(whole?.signingDigests == [androidDigest])
        let bad = [
            id([], [digest]), id([name], []), id([name], [digest], DERWriter.null),
            id([name], [DERWriter.octetString([1])]), id([package([0xC0, 0x80])], [digest]),
            id([package([])], [digest]), id([package([0x61], DERWriter.null)], [digest]),
            id([package([0x61], DERWriter.integer(1) + DERWriter.null)], [digest]),
            id([DERWriter.octetString([0x61])], [digest]), id([name], [digest]) + [0], [],
        ]
        for content in bad {
            #expect(AttestationApplicationID(parsing: content.span) == nil, "\(content)")
        }
    }

    @Test("never trap when damaged, and keep no identifier of the device")
    func damaged() throws {
        let enrolment = try Enrolment {
            $0.quirks = [.deviceProperties, .unknownTag, .signAndVerify]
            $0.attestationVersion = 400
        }
        let leaf = enrolment.chain[0]
        for index in leaf.indices {
            for bit in 0..<8 {
                var changed = leaf
                changed[index] ^= 1 << UInt8(bit)
                let chain = [changed] + enrolment.chain.dropFirst()
                let explanation = Explanation.androidAttestation(
                    chain, expecting: AndroidExpectations(at: androidNow))
                #expect(!explanation.isValid)
            }
        }
        let identified = try Enrolment(fault: .imeiAttested)
        let text = Explanation.androidAttestation(
            identified.chain, expecting: AndroidExpectations(at: androidNow)
        ).text
        #expect(text.contains("IMEI") && !text.contains("1234"))
        #expect(try identified.failure()?.description.contains("1234") == false)
        #expect(String(reflecting: try identified.failure()).contains("1234") == false)
    }
}
