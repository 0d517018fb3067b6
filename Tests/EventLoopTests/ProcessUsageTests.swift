import EventLoop
import Testing

@Suite("What a process uses")
struct ProcessUsageTests {}

extension ProcessUsageTests {
    private static func status(name: String) -> String {
        // Numbers 1 to 24 of proc(5); the program's name is the second.
        "42 (\(name)) S 1 42 42 0 -1 4194304 9 0 0 0 1234 66 0 0 20 0 5 0 5050 8192000 300 1"
    }

    private static let system = "cpu  1 2 3\nctxt 5\nbtime 1700000000\nprocesses 9\n"

    @Test(
        "is read whatever the program is called",
        arguments: ["sallyport", "a b", ") S 9 9 9 9", "a) (b"])
    func name(name: String) {
        let usage = ProcessUsage(
            status: Self.status(name: name), system: Self.system, ticksPerSecond: 100,
            pageByteCount: 4096)
        #expect(usage?.processorNanoseconds == 13_000_000_000)
        #expect(usage?.residentByteCount == 300 * 4096)
        #expect(usage?.virtualByteCount == 8_192_000)
        #expect(usage?.startedAtNanoseconds == 1_700_000_050_500_000_000)
    }

    @Test(
        "is not known where the system says something else", arguments: ["", "42 (a) S 1", "42 S"])
    func malformed(status: String) {
        let usage = ProcessUsage(
            status: status, system: Self.system, ticksPerSecond: 100, pageByteCount: 4096)
        #expect(usage == nil)
        let lacksBoot = ProcessUsage(
            status: Self.status(name: "a"), system: "cpu 1\n", ticksPerSecond: 100,
            pageByteCount: 4096)
        #expect(lacksBoot == nil)
    }

    @Test("is that of this process")
    func own() throws {
        let usage = try #require(ProcessUsage.read())
        #expect(usage.residentByteCount > 0 && usage.virtualByteCount >= usage.residentByteCount)
        let count = try #require(ProcessUsage.descriptorCount)
        #expect(count >= 3)
    }
}
