import Bytes
import EventLoop
import HTTPSClient

/// The bounds of the time for which an answer need not be asked for again.
struct AnswerLife {
    /// The shortest life, whatever the server says, because a question costs both sides something.
    let shortest: Duration
    /// The life if the server says nothing.
    let usual: Duration
    let longest: Duration

    /// The `max-age`, less the time in caches (RFC 9111 section 4.2), within bounds.
    func life(of response: HTTPSResponse) -> Duration {
        let words = (response.field("cache-control") ?? "").lowercased().split(separator: ",")
            .map { $0.filter { !$0.isWhitespace } }
        guard !words.contains(where: Self.forbidsReuse) else { return shortest }
        guard let word = words.first(where: { $0.hasPrefix("max-age=") }),
            let whole = Self.seconds(word.dropFirst("max-age=".count))
        else { return usual }
        return min(max(whole - response.age, shortest), longest)
    }

    /// True for `no-store` and `no-cache`, which may name fields.
    private static func forbidsReuse(_ word: String) -> Bool {
        ["no-store", "no-cache"].contains(word.prefix { $0 != "=" })
    }

    fileprivate static func seconds(_ text: Substring) -> Duration? {
        let digits = Array(text.utf8)
        return ASCII.decimal(digits.span).map { .seconds(min($0, 1 << 31)) }
    }
}

extension HTTPSResponse {
    /// The time since the server itself sent the answer, by the `Age` of the caches on the way
    /// (RFC 9111 section 5.1). Zero without one.
    var age: Duration { field("age").flatMap { AnswerLife.seconds($0[...]) } ?? .zero }
}
