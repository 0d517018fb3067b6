import Foundation
import GatewayTesting
import Settings
import Testing

@testable import Gateway

@Suite("Directories of capture")
struct CaptureDirectoryTests {
    private let scratch: ScratchDirectory
    private var path: String { scratch.path(of: "captured") }

    init() throws { scratch = try ScratchDirectory() }
}

extension CaptureDirectoryTests {
    private func opened(byteCountMax: Int = 1 << 20, fileCountMax: Int) throws -> CaptureDirectory {
        var settings = CaptureSettings(directory: path)
        settings.byteCountMax = byteCountMax
        return try CaptureDirectory(settings, fileCountMax: fileCountMax)
    }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func name(_ milliseconds: Int64) -> String {
        CaptureFile.name(milliseconds: milliseconds, requestID: "id-\(milliseconds)")
    }

    @Test("hold so many files, and the oldest go first, also those of an earlier life")
    func count() throws {
        var directory = try opened(fileCountMax: 5)
        for time in 0..<5 { try directory.keep(name(Int64(time)), [1]) }
        #expect(names.count == 5)
        var next = try opened(fileCountMax: 5)
        for time in 5..<50 {
            try next.keep(name(Int64(time)), [1])
            #expect(names.count <= 5)
            #expect(names.last == name(Int64(time)))
        }
        #expect(!names.contains(name(0)))
    }

    @Test("hold so many bytes, and nothing that is larger than all of them")
    func bytes() throws {
        var directory = try opened(byteCountMax: 100, fileCountMax: 1000)
        for time in 0..<30 {
            try directory.keep(name(Int64(time)), [UInt8](repeating: 0, count: 30))
            #expect(names.count <= 3)
        }
        try directory.keep(name(99), [UInt8](repeating: 0, count: 101))
        #expect(!names.contains(name(99)))
        try directory.keep(name(98), [UInt8](repeating: 0, count: 100))
        #expect(names == [name(98)])
    }

    @Test("count what another gateway has written, and miss nothing that somebody has removed")
    func others() throws {
        var directory = try opened(fileCountMax: 4)
        var other = try opened(fileCountMax: 4)
        for time in 0..<12 {
            try directory.keep(name(Int64(2 * time)), [1])
            try other.keep(name(Int64(2 * time + 1)), [1])
            #expect(names.count <= 8)
        }
        for name in names { try FileManager.default.removeItem(atPath: path + "/" + name) }
        for time in 50..<60 { try directory.keep(name(Int64(time)), [1]) }
        #expect(names.count <= 4)
    }

    @Test("are used only if they are this user's alone")
    func modes() throws {
        _ = try opened(fileCountMax: 1)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? Int) == 0o700)
        for mode in [0o701, 0o710, 0o750, 0o770, 0o777] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            #expect(throws: (any Error).self) { try opened(fileCountMax: 1) }
        }
        try FileManager.default.removeItem(atPath: path)
        try scratch.write("x", to: "captured")
        #expect(throws: (any Error).self) { try opened(fileCountMax: 1) }
    }

    @Test(
        "know their own names, in order of time, whatever the id is",
        arguments: ["4bf92f3577b34da6a3ce929d0e0e4736", "../../etc/passwd", "a/b", "", "\u{0}"])
    func names(id: String) {
        let name = CaptureFile.name(milliseconds: 1_763_800_000_123, requestID: id)
        #expect(CaptureFile.isName(name))
        #expect(!name.contains("/") && !name.contains("\u{0}"))
        #expect(name.hasSuffix(CaptureFile.suffix(requestID: id)))
        #expect(CaptureFile.name(milliseconds: 9, requestID: id) < name)
        for other in ["x" + name, name + "x", name.uppercased(), "notes.txt", ""] {
            #expect(!CaptureFile.isName(other), "\(other)")
        }
    }
}
