import EventLoop
import Redis

extension Operation {
    /// What hiredis cuts into replies.
    static func replies() throws -> [Operation] {
        let long = String(repeating: "x", count: 40_000)
        let text = Array(
            ("+OK\r\n:12\r\n$\(long.utf8.count)\r\n\(long)\r\n*3\r\n$1\r\na\r\n*2\r\n:1\r\n$-1\r\n"
                + "*-1\r\n-ERR no\r\n").utf8)
        let replies: [RedisReply] = [
            .simpleString("OK"), .integer(12), .bulk(Array(long.utf8)),
            .array([.bulk([0x61]), .array([.integer(1), .null]), .null]), .error("ERR no"),
        ]
        return [
            Operation("Redis: replies", of: .hiredis) {
                .same(as: replies) { try read(text, pieceByteCount: text.count) }
            },
            Operation("Redis: replies in pieces", of: .hiredis) {
                .same(as: replies) { try read(text, pieceByteCount: 7000) }
            },
            Operation("Redis: no reply", of: .hiredis) {
                .bad { try !read(Array("+OK\r\n?what\r\n".utf8), pieceByteCount: 5).isEmpty }
            },
        ]
    }

    private static func read(_ bytes: [UInt8], pieceByteCount: Int) throws -> [RedisReply] {
        // One for which there is no memory ends the process, as an object of Swift's would.
        var reader = Starvation.sated { RedisReplyReader(byteCountMax: 1 << 20) }
        var replies: [RedisReply] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + pieceByteCount)
            try reader.feed(bytes.span.extracting(start..<end))
            while let reply = try reader.next() { replies.append(reply) }
            start = end
        }
        return replies
    }
}
