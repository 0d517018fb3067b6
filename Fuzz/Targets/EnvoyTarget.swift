import Bytes
import Questions

extension FuzzTarget {
    /// The body of a `Check`: read alike however it is cut, and taken for one request or none.
    static let envoyCheck = FuzzTarget("envoy-check", byteCountMax: 1024) { bytes in
        for message in try EnvoyFrames.read(bytes) {
            guard let question = try? EnvoyCheck.read(message.span) else { continue }
            try FuzzFinding.require(
                question.body.upperBound <= message.count, "a body beyond its message")
            try AskedHead.check(question.asked)
        }
    }

    /// The body of a `Process`, likewise.
    static let envoyProcessing = FuzzTarget("envoy-processing", byteCountMax: 1024) { bytes in
        for message in try EnvoyFrames.read(bytes) {
            switch try? EnvoyProcessing.read(message.span) {
            case .requestHead(let asked, _, _): try AskedHead.check(asked)
            case .requestBody(let range, _):
                try FuzzFinding.require(
                    range.upperBound <= message.count, "a piece beyond its message")
            case .requestTrailers, .responseHead, .other, nil: break
            }
        }
    }
}

/// The messages of a call.
private enum EnvoyFrames {
    static func read(_ bytes: [UInt8]) throws(FuzzFinding) -> [[UInt8]] {
        let whole = read(bytes, cutAt: [bytes.count])
        for cut in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                read(bytes, cutAt: cut), whole, "cut at \(cut) other messages are found")
        }
        return whole
    }

    private static func read(_ bytes: [UInt8], cutAt ends: [Int]) -> [[UInt8]] {
        var reader = GRPCMessages(byteCountMax: 512)
        var messages: [[UInt8]] = []
        for piece in Cuts.pieces(endingAt: ends) {
            reader.append(bytes.span.extracting(piece))
            do throws(GRPCStatus) {
                while let message = try reader.next() { messages.append(message) }
            } catch {
                return messages
            }
        }
        return messages
    }
}
