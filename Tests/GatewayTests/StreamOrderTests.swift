import EventLoop
import Foundation
import Policy
import Settings
import TLS
import Testing

@testable import Gateway

@Suite("The order of a body that goes on as it comes")
struct StreamOrderTests {}

extension StreamOrderTests {
    /// A request whose upstream takes nothing more, and whose client waits for that: `rest` has
    /// come too, and stands behind what is held back. Returns also how much content that is.
    private func heldBack(_ rest: String) throws -> (stepped: SteppedWorker, content: Int) {
        let stepped = try SteppedWorker {
            $0.limits.responseBufferByteCountMax = 4096
            $0.routes[0].bodyByteCountMax = 16 << 20
            $0.routes[0].streamsBody = true
        }
        try stepped.begin(method: "POST", fields: "Transfer-Encoding: chunked\r\n")
        let leased = try #require(stepped.leased)
        let block = Self.chunk(String(repeating: ".", count: 4000))
        var blockCount = 0
        func send(_ text: String) throws {
            try #require(stepped.send(text) == text.utf8.count)
            stepped.connection.descriptorIsReadable()
            stepped.worker.services.outbox.flush()
        }
        while leased.transport?.isWriting != true, blockCount < 4000 {
            try send(block)
            blockCount += 1
        }
        try #require(leased.transport?.isWriting == true)
        // In one read, so that `rest` waits in the connection and not in the kernel.
        try send(block + block + rest)
        try #require(stepped.connection.exchange?.intake.holdsClientBack() == true)
        return (stepped, (blockCount + 2) * 4000)
    }

    private static func chunk(_ data: String) -> String {
        String(data.utf8.count, radix: 16) + "\r\n\(data)\r\n"
    }

    /// The upstream takes what there is, and the gateway goes on writing, until both are done.
    private func drain(_ stepped: SteppedWorker, _ leased: UpstreamConnection) -> String {
        var text = ""
        while true {
            let more = stepped.upstreamText()
            text += more
            if leased.transport?.isWriting == true {
                leased.descriptorIsWritable()
            } else if more.isEmpty {
                return text
            }
            if stepped.connection.transport?.isReading == true {
                stepped.connection.descriptorIsReadable()
            }
            stepped.worker.services.outbox.flush()
        }
    }

    @Test("is that in which it came, where many small parts waited in the client's connection")
    func order() throws {
        let parts = (0..<100).map { "<\($0)>" + String(repeating: "#", count: 59) }
        let (stepped, blockCount) = try heldBack(parts.map(Self.chunk).joined() + "0\r\n\r\n")
        let leased = try #require(stepped.leased)
        let text = drain(stepped, leased)
        let head = try #require(text.range(of: "\r\n\r\n"))
        let content = try Self.decode(text[head.upperBound...])
        #expect(content.rest.isEmpty)
        #expect(content.data.prefix(blockCount).allSatisfy { $0 == "." })
        #expect(String(content.data.dropFirst(blockCount)) == parts.joined())
    }

    @Test("has no end where what was held back is refused")
    func refused() throws {
        let (stepped, _) = try heldBack(Self.chunk("last") + "nonsense\r\n\r\n")
        let leased = try #require(stepped.leased)
        let text = drain(stepped, leased)
        #expect(!text.hasSuffix("\r\n0\r\n\r\n"))
        #expect(leased.state == .closed)
        #expect(stepped.takeAnswers().hasPrefix("HTTP/1.1 400 "))
    }

    private static func decode(_ text: Substring) throws -> (data: String, rest: Substring) {
        var data = ""
        var rest = text.utf8[...]
        while true {
            let end = try #require(rest.firstIndex(of: 0x0D))
            let count = try #require(Int(String(Substring(rest[..<end])), radix: 16))
            rest = rest[end...].dropFirst(2)
            data += String(Substring(rest.prefix(count)))
            rest = rest.dropFirst(count + 2)
            if count == 0 { return (data, Substring(rest)) }
        }
    }
}
