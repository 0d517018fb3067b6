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
            .map { $0.drop { $0 == " " } }
        guard !words.contains(where: { $0.hasPrefix("no-") }) else { return shortest }
        guard let word = words.first(where: { $0.hasPrefix("max-age=") }),
            let whole = Self.seconds(word.dropFirst("max-age=".count))
        else { return usual }
        let age = response.field("age").flatMap { Self.seconds($0[...]) } ?? 0
        return min(max(.seconds(whole - min(age, whole)), shortest), longest)
    }

    private static func seconds(_ text: Substring) -> Int64? {
        let digits = Array(text.utf8)
        return ASCII.decimal(digits.span).map { Int64(min($0, 1 << 31)) }
    }
}
