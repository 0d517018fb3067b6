import Foundation
import GatewayTesting
import Testing

/// What tests of frozen and lost disks rely on.
@Suite("A file system of its own")
struct LoopFileSystemTests {}

extension LoopFileSystemTests {
    @Test(
        "blocks writes while it is frozen, and leaves nothing behind",
        .enabled(if: LoopFileSystem.isAllowed(), Comment(rawValue: LoopFileSystem.needs)),
        .timeLimit(.minutes(30)))
    func frozen() throws {
        var system: LoopFileSystem? = try LoopFileSystem()
        let path = try #require(system?.path)
        try system?.freeze()
        let writer = try ChildProcess("sh", ["-c", "echo begun; echo x > '\(path)/file'"])
        try writer.waitForLine(on: .standardOutput, containing: "begun")
        #expect(!FileManager.default.fileExists(atPath: path + "/file"))
        #expect(writer.exitStatus == nil)
        system?.thaw()
        #expect(try writer.waitForExit() == .exited(0))
        #expect(try String(contentsOfFile: path + "/file", encoding: .utf8) == "x\n")

        try system?.freeze()
        system = nil
        let mounts = try SystemText.read("/proc/self/mounts")
        #expect(!mounts.contains(path))
    }

    @Test(
        "fails every call once it is shut down",
        .enabled(if: LoopFileSystem.isAllowed(.xfs), Comment(rawValue: LoopFileSystem.needs)))
    func lost() throws {
        let system = try LoopFileSystem(.xfs)
        try Data([1]).write(to: URL(fileURLWithPath: system.path + "/file"))
        try system.shutDown()
        let descriptor = open(system.path + "/file", O_RDWR | O_CLOEXEC)
        #expect(descriptor < 0 && errno == EIO)
        if descriptor >= 0 { close(descriptor) }
    }
}
