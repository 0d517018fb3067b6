import Testing

@testable import Gateway

@Suite("Looking at the configuration's files")
struct FileLookTests {
    private static let read: ConfigurationFiles.Stamps = ["/a": [1, 1], "/b": [2, 1]]
    private var look = FileLook()
}

extension FileLookTests {
    private mutating func see(_ now: ConfigurationFiles.Stamps) -> [String] {
        look.changes(read: Self.read, now: now)
    }

    @Test("files that are still being written are left alone until they are at rest")
    mutating func rest() {
        #expect(see(Self.read) == [])
        #expect(see(["/a": [1, 2], "/b": [2, 1]]) == [])
        #expect(see(["/a": [1, 3], "/b": [2, 1]]) == [])
        #expect(see(["/a": [1, 3], "/b": [2, 1]]) == ["/a"])
    }

    @Test("one change is told once, even if nobody could read the files")
    mutating func once() {
        let gone: ConfigurationFiles.Stamps = ["/a": [], "/b": [3, 1]]
        #expect(see(gone) == [])
        #expect(see(gone) == ["/a", "/b"])
        #expect(see(gone) == [])
        let back: ConfigurationFiles.Stamps = ["/a": [4, 1], "/b": [3, 1]]
        #expect(see(back) == [])
        #expect(see(back) == ["/a", "/b"])
    }

    @Test("files that are as they were read are no news")
    mutating func unchanged() {
        let other: ConfigurationFiles.Stamps = ["/a": [1, 1], "/b": []]
        #expect(see(other) == [])
        #expect(see(Self.read) == [])
        #expect(see(Self.read) == [])
    }
}
