import Bytes
import HTTP
import Questions

extension FuzzTarget {
    /// A question in JSON: what it is taken for reads as one request with as many fields, or as
    /// none.
    static let jsonQuestion = FuzzTarget("json-question", byteCountMax: 1024) { bytes in
        guard
            let asked = try? JSONQuestion.read(bytes.span, byteCountMax: bytes.count)
        else { return }
        try AskedHead.check(asked)
    }
}

/// The rules for the head that is made of a question.
enum AskedHead {
    static func check(_ asked: AskedRequest) throws(FuzzFinding) {
        guard let (text, fieldCount) = asked.head(version: .http11) else { return }
        var head = RequestHead()
        let limits = HeadLimits(
            headByteCountMax: 1 << 16, fieldCountMax: 1 << 12, targetByteCountMax: 1 << 16)
        switch head.parse(text.span, limits: limits) {
        case .refused: break
        case .incomplete: throw FuzzFinding("a whole head is not whole")
        case .complete:
            try FuzzFinding.requireEqual(head.byteCount, text.count, "more than one request")
            try FuzzFinding.requireEqual(head.fields.count, fieldCount, "other fields")
            try FuzzFinding.requireEqual(
                text.span.extracting(head.method).array, asked.method, "another method")
            try FuzzFinding.requireEqual(
                text.span.extracting(head.target).array, asked.target, "another target")
            try FuzzFinding.require(head.framing == .none, "it is framed")
        }
    }
}
