import EventLoop
import Foundation
import Testing

@Suite("The way to a file")
struct FilePlaceTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }
}

extension FilePlaceTests {
    private func make(_ name: String, mode: Int) throws -> String {
        let path = directory.path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try setMode(mode, of: path)
        return path
    }

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test("is open where all users may change a directory or the file, whatever links lead there")
    func links() throws {
        let closed = try make("closed", mode: 0o755)
        let open = try make("open", mode: 0o777)
        try File.write(open + "/file", [], mode: 0o1666)
        try File.write(closed + "/file", [], mode: 0o644)
        try link(closed + "/absolute", to: open + "/./file")
        try link(closed + "/relative", to: "../open/../open/file")
        try link(closed + "/chain", to: "relative")
        for name in ["absolute", "relative", "chain"] {
            #expect(File.placesOpenToChanges("\(closed)/\(name)") == [open, open + "/file"])
        }
        #expect(File.placesOpenToChanges(closed + "/file") == [])
        // What is in it can be replaced, although nothing of what is left can be changed.
        try link(open + "/away", to: closed + "/file")
        #expect(File.placesOpenToChanges(open + "/away") == [open])
        try setMode(0o1777, of: open)
        #expect(File.placesOpenToChanges(open + "/away") == [])
    }

    @Test("ends where links lead in a circle, or nothing is")
    func nowhere() throws {
        let open = try make("open", mode: 0o777)
        try link(open + "/circle", to: "circle")
        #expect(File.placesOpenToChanges(open + "/circle") == [open])
        #expect(File.placesOpenToChanges(open + "/none/file") == [open])
        #expect(File.placesOpenToChanges("no/such/file") == [])
    }
}
