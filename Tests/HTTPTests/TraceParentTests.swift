import Bytes
import HTTP
import Testing

@Suite("traceparent")
struct TraceParentTests {}

extension TraceParentTests {
    private static let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static func parent(_ text: String) -> TraceParent? {
        let bytes = Array(text.utf8)
        return TraceParent(bytes.span)
    }

    @Test("is read, and written as it was")
    func reading() throws {
        let parent = try #require(Self.parent(Self.good))
        #expect(parent.traceID.word0 == 0x4BF9_2F35_77B3_4DA6)
        #expect(parent.traceID.word1 == 0xA3CE_929D_0E0E_4736)
        #expect(parent.spanID == 0x00F0_67AA_0BA9_02B7)
        #expect(parent.isSampled && parent.flags == 1)
        var buffer = ByteBuffer()
        parent.append(to: &buffer)
        #expect(String(decoding: buffer.readable.array, as: UTF8.self) == Self.good)
        #expect(Self.parent(Self.good.dropLast() + "0")?.isSampled == false)
        // Flags that mean nothing yet are not passed on.
        #expect(Self.parent(Self.good.dropLast(2) + "ff")?.flags == 3)
        #expect(Self.parent("cc" + Self.good.dropFirst(2) + "-what-comes") == parent)
    }

    @Test(
        "is nothing else",
        arguments: [
            "", "00", String(good.dropLast()), good + "0", good + "-more", good.uppercased(),
            "ff" + good.dropFirst(2), "cc" + good.dropFirst(2) + "x",
            "0g" + good.dropFirst(2), good.dropLast(2) + "0g",
            good.replacing("-", with: "_"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            " " + good.dropLast(),
        ] as [String])
    func malformed(text: String) {
        #expect(Self.parent(text) == nil)
    }
}
