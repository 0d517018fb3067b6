import Background
import Bytes
import Crypto
import EventLoop
import Foundation
import GatewayTesting
import JWT
import Settings
import Testing

@Suite("Files of issuers' keys", .timeLimit(.minutes(30)))
struct KeySetFolderTests {
    private static let document = #"""
        {"keys":[{"kty":"EC","crv":"P-256","kid":"e",
        "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
        """#

    private static func place(
        _ name: String = "i", issuer: String? = "iss", url: String = "https://x/"
    ) throws -> IssuerKeyRegister.Place {
        var proof = ProofSettings()
        (proof.name, proof.issuer, proof.jwks) = (name, issuer, .url(url))
        return try #require(IssuerKeyRegister.Place(proof))
    }

    private let directory: ScratchDirectory
    private let folder: KeySetFolder
    private let kept: KeptKeySet
    private let path: String

    init() throws {
        directory = try ScratchDirectory()
        var settings = Settings()
        settings.registry = .sqlite(path: directory.path(of: "registry.db"))
        folder = try #require(KeySetFolder(settings))
        let bytes = Array(Self.document.utf8)
        kept = KeptKeySet(
            place: try Self.place(), keys: try JSONWebKeySet(parsing: bytes.span),
            fetchedAtMilliseconds: 7)
        path = directory.path(of: "registry.db.jwks-i")
        try folder.write(kept)
    }
}

extension KeySetFolderTests {
    /// Why the file is not used; nil if it is, or is another's.
    private func failure(_ bytes: [UInt8]) throws -> String? {
        try File.write(path, bytes, mode: 0o600)
        let place = try Self.place()
        do throws(DigestedFileError) {
            _ = try folder.read(place)
            return nil
        } catch {
            return error.description
        }
    }

    /// With the digest that belongs to it.
    private func sealed(_ text: String) -> [UInt8] {
        Array((Base64.encode(SHA256.hash(Array(text.utf8)).array) + "\n" + text).utf8)
    }

    @Test("are read as they were written, by the same issuer alone")
    func reading() throws {
        let read = try #require(try folder.read(Self.place()))
        #expect(read.fetchedAtMilliseconds == 7 && read.keys.document == kept.keys.document)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        let others = [
            try Self.place(issuer: "other"), try Self.place(issuer: nil), try Self.place("j"),
            try Self.place(url: "https://y/"),
        ]
        for place in others { #expect(try folder.read(place) == nil) }
    }

    @Test("are not believed if a byte was changed or is missing")
    func damaged() throws {
        let whole = try File.read(path, byteCountMax: 1 << 20)
        #expect(try failure(whole) == nil)
        for index in whole.indices {
            var changed = whole
            changed[index] ^= 1
            #expect(try failure(changed) != nil, "\(index)")
        }
        for count in 0..<whole.count { #expect(try failure(Array(whole[..<count])) != nil) }
        #expect(try failure(whole + [0x0A]) != nil)
        #expect(try failure(Array(repeating: 0x41, count: 1 << 20))?.contains("larger") == true)
    }

    @Test("are read as strictly as an answer, whoever wrote them")
    func strict() throws {
        func text(_ header: String, _ keys: String = Self.document) -> String {
            header + "\n" + keys.replacing("\n", with: "")
        }
        let header =
            #"{"format":1,"name":"i","issuer":"iss","url":"https://x/","fetched_at_ms":7}"#
        #expect(try failure(sealed(text(header))) == nil)
        for bad in [
            text(header.replacing("1", with: "2")), text(header.replacing("7", with: "-7")),
            text(header.replacing("7", with: "7.5")), text("[]"), text(""), "", header,
            text(header, #"{"keys":[]}"#), text(header, Self.document + "x"),
            text(header, #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#),
        ] { #expect(try failure(sealed(bad)) != nil, "\(bad)") }
    }

    @Test("are not read if others may change them, or if they are no files")
    func foreign() throws {
        #expect(chmod(path, 0o644) == 0)
        #expect(throws: DigestedFileError.self) { try folder.read(Self.place()) }
        try File.remove(path)
        #expect(try folder.read(Self.place()) == nil)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: DigestedFileError.self) { try folder.read(Self.place()) }
    }

    @Test("a registry that is a database has no place for them")
    func database() {
        var settings = Settings()
        settings.registry = .postgres(PostgresSettings(hosts: []))
        #expect(KeySetFolder(settings) == nil)
    }
}
