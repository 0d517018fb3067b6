import KeyStore

/// The sums of one count, apart for each incarnation of Redis.
///
/// Within an incarnation one server has put all charges in order, so of two sums the greater one is
/// the later. Sums of two incarnations are made of different charges, and add up.
struct QuotaHistory: Hashable, Sendable {
    struct Part: Hashable, Sendable {
        /// The low half of the incarnation. If two have the same, their sums count as one's.
        var incarnation: UInt32
        var sums = QuotaSums()
    }

    /// The most parts that a count has in its period, some 20 bytes each. Charges of further
    /// incarnations belong to the last part, and what another place knows of such incarnations is
    /// not taken in: what was added up in one part would count again if it came back apart.
    static let partCountMax = 8

    /// The first part, with sums of 0 if there is none. It needs no memory of its own, because few
    /// counts live through a failover.
    private var first = Part(incarnation: 0)
    private var others: [Part] = []

    init() {}

    /// Parses ``text``. Nil for anything else.
    init?(_ text: [UInt8]) {
        let words = String(decoding: text, as: UTF8.self).split(separator: " ")
        guard words.count.isMultiple(of: 3) else { return nil }
        for index in stride(from: 0, to: words.count, by: 3) {
            guard let incarnation = UInt32(words[index], radix: 16),
                let taken = Int(words[index + 1]), let returned = Int(words[index + 2])
            else { return nil }
            merge(
                Part(
                    incarnation: incarnation, sums: QuotaSums(taken: taken, returned: returned)))
        }
    }

    private var parts: [Part] { (first.sums == QuotaSums() ? [] : [first]) + others }

    /// Three words for each part: the incarnation in eight hexadecimal digits, and both sums.
    var text: String {
        parts.map { "\(Self.text($0.incarnation)) \($0.sums.taken) \($0.sums.returned)" }
            .joined(separator: " ")
    }

    static func text(_ incarnation: UInt32) -> String {
        let digits = String(incarnation, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }

    /// What was taken in all incarnations without what was given back.
    var used: Int { parts.reduce(0) { $0 + $1.sums.used } }

    /// Takes in what another place knows of the same count.
    mutating func merge(_ other: QuotaHistory) { for part in other.parts { merge(part) } }

    private mutating func merge(_ part: Part) {
        change(part.incarnation, orLast: false) { $0.merge(part.sums) }
    }

    /// Makes a charge that needs no limit.
    mutating func make(_ charge: QuotaCharge, in incarnation: UInt32) {
        let change: QuotaCharge.Change =
            switch charge.change {
            // A part alone does not know what is used.
            case .reset: used > 0 ? .giveBack(used) : .add(-used)
            case .take, .look, .add, .giveBack: charge.change
            }
        self.change(incarnation, orLast: true) { _ = $0.make(change, limit: charge.limit) }
    }

    /// Changes the sums of an incarnation. If it has no place, changes nothing, or the last part.
    private mutating func change(
        _ incarnation: UInt32, orLast: Bool, _ body: (inout QuotaSums) -> Void
    ) {
        if first.sums == QuotaSums(), others.isEmpty { first.incarnation = incarnation }
        guard first.incarnation != incarnation else { return body(&first.sums) }
        if let index = others.firstIndex(where: { $0.incarnation == incarnation }) {
            body(&others[index].sums)
        } else if others.count < Self.partCountMax - 1 {
            others.append(Part(incarnation: incarnation, sums: QuotaSums()))
            body(&others[others.count - 1].sums)
        } else if orLast {
            body(&others[others.count - 1].sums)
        }
    }
}
