import Policy
import YAML

/// Declares `quotas`, and the names by which routes refer to its entries.
enum QuotaReader {
    /// The most quotas of a route. The store is asked for one after another, before the request is
    /// forwarded.
    fileprivate static let countMaxOfRoute = 4
    private static let numbers = 1...999_999_999_999_999
    private static let numberReason = "fields of answers hold 15 digits (RFC 9651)"

    static var kind: Kind<[Quota]> {
        // A faulty quota is kept, so that references to it are not reported as unknown.
        let quota = Kind.section(form, keepsFaulty: true, check: check)
        let named = Kind<[Quota]>.named("NAME", quota, \.name)
        return named.unlessEmpty.checked { field, quotas in
            // Settings that are read later may name them.
            field.context.quotas = quotas
        }
    }

    private static var form: Form<Quota> {
        let start = Quota(
            name: "", subject: .key, period: QuotaPeriod(.day), limit: 1, measure: .requests)
        return Form(start, first: ["of"]) {
            Setting(
                "by", \.subject, .word, required: true,
                "What has a count of its own. key, user (by signals.user), address (for IPv6 "
                    + "each /64), app, or installation. Senders that cannot be told apart share "
                    + "one.")
            Setting(
                "per", \.period.unit, .word, required: true,
                "The calendar period. A week begins on Monday.")
            Setting(
                "limit", \.limit, of: { amount(numbers, $0.measure) }, required: true,
                standard: "",
                "The most in a period. With of: response_bytes a size.")
            Setting(
                "of", \.measure, measure,
                "What is counted: requests that are forwarded, the bytes of answers' bodies, or "
                    + "with { json: POINTER } a number in them. Answers count when they end.")
            Setting(
                "missing", \.missingCharge,
                of: { quota in
                    amount(0...numbers.upperBound, quota.measure).printed { _ in
                        quota.measure.isOfJSON
                    }
                }, standard: "",
                "What an answer without the number costs. If left out, a hundredth of limit.")
            Setting(
                "zone", \.period.offsetMinutes, zone, standard: "UTC",
                "The time zone of periods: UTC or an offset such as \"+01:00\", the same all "
                    + "year.")
        }
    }

    private static func check(_ section: inout Section, _ quota: inout Quota) {
        guard !section.isFaulty("of") else { return }
        guard quota.measure.isOfJSON else {
            return section.refuse(["missing"], "is used with of: { json: POINTER } only")
        }
        if section.field("missing") == nil { quota.missingCharge = max(1, quota.limit / 100) }
    }

    /// A number, or a size for bytes.
    private static func amount(_ range: ClosedRange<Int>, _ measure: Quota.Measure) -> Kind<Int> {
        let shape = Shape.text(
            "number with k, M or G, or size", pattern: "^[0-9]+([kMG]|B|[KMG]iB)?$")
        let isSize = measure == .responseBytes
        let form = isSize ? Quantity.Form.size : .count
        return Kind(shape, plain: { Quantity.describe($0, form.units) }) { field in
            guard let text = field.text() else { return nil }
            return !isSize && text.value.utf8.allSatisfy(\.isDigit)
                ? field.count(range, numberReason) : field.amount(range, form, numberReason)
        }
    }

    private static var measure: Kind<Quota.Measure> {
        let json = Kind.section(
            "json", .pointer, "The number by RFC 6901, in a JSON body or in events of a stream."
        ).map(
            { Quota.Measure.json($0) },
            from: { if case .json(let pointer) = $0 { pointer } else { nil } })
        return .words([("requests", .requests), ("response_bytes", .responseBytes)])
            .or(json, hint: ("json", "needs its pointer: write { json: /usage/total_tokens }"))
    }

    private static var zone: Kind<Int> {
        let offset = Kind(
            .text("offset from UTC", pattern: "^[+-][0-9]{2}:[0-9]{2}$"), text: offsetText,
            parse: offsetMinutes)
        return .words([("UTC", 0)], or: offset)
    }

    private static func offsetText(_ minutes: Int) -> String {
        let digits = [minutes.magnitude / 60, minutes.magnitude % 60].map {
            $0 < 10 ? "0\($0)" : "\($0)"
        }
        return (minutes < 0 ? "-" : "+") + digits.joined(separator: ":")
    }

    private static func offsetMinutes(_ text: String) throws(Fault) -> Int {
        let bytes = Array(text.utf8)
        let signs = [UInt8(ascii: "+"): 1, UInt8(ascii: "-"): -1]
        guard bytes.count == 6, let sign = signs[bytes[0]], bytes[3] == UInt8(ascii: ":"),
            let hours = Quantity.count(String(decoding: bytes[1...2], as: UTF8.self)),
            let minutes = Quantity.count(String(decoding: bytes[4...5], as: UTF8.self)),
            minutes < 60
        else { throw Fault("is neither UTC nor an offset such as +01:00") }
        // No zone on earth is further from UTC.
        guard hours * 60 + minutes <= 14 * 60 else { throw Fault("is more than 14 hours") }
        return sign * (hours * 60 + minutes)
    }

    /// Reports quotas of a route that cannot be counted there.
    static func check(_ section: inout Section, _ route: Route) {
        if route.quotas.isEmpty, route.tellsQuotas {
            section.refuse(["tell_quota"], "is used with quota only")
        }
        guard let field = section.good("quota") else { return }
        let quotas = field.context.quotas.filter { route.quotas.contains($0.name) }
        let isModeKnown = !section.context.isFaulty("\(section.place.path).attest.mode")
        for quota in quotas {
            if isModeKnown, route.attest.mode == .off, quota.subject.needsProof {
                field.error(
                    "\(quoted(quota.name)) counts by \(quota.subject.rawValue), and with mode off "
                        + "no sender proves one")
            }
            if quota.measure.isOfJSON, route.requestHeaders.writesAcceptEncoding {
                field.error(
                    "\(quoted(quota.name)) reads answers, so request_headers may not change "
                        + "Accept-Encoding")
            }
            if route.allowsWebSocket, quota.measure != .requests {
                field.error(
                    "\(quoted(quota.name)) counts answers, and a WebSocket has none that ends: "
                        + "use of: requests with upgrade")
            }
        }
    }
}

extension Quota.Measure {
    fileprivate var isOfJSON: Bool { if case .json = self { true } else { false } }
}

extension HeaderEdits {
    fileprivate var writesAcceptEncoding: Bool {
        (set + add).contains { HeaderReader.fold($0.name) == "accept-encoding" }
    }
}

extension Quota.Subject {
    /// True if only a proof tells senders apart.
    var needsProof: Bool {
        switch self {
        case .key, .app, .installation: true
        case .user, .address: false
        }
    }
}

extension Kind where Value == [String] {
    /// The name of a quota, or a list of names.
    static var quotas: Kind {
        let name = Kind<String>.quota
        let names = Kind.list(name, empty: "is empty: leave it out")
        return Kind(.either([name.shape, names.shape])) { field in
            guard case .sequence = field.node.kind else { return name.read(field).map { [$0] } }
            guard let read = names.read(field) else { return nil }
            guard read.count <= QuotaReader.countMaxOfRoute else {
                field.error("has more than \(QuotaReader.countMaxOfRoute) quotas")
                return nil
            }
            return read
        } yaml: {
            $0.isEmpty ? .absent : names.yaml($0)
        }
    }
}

extension Kind where Value == String {
    /// The name of a quota.
    fileprivate static var quota: Kind {
        text(.text("name of quotas")) { field in
            if !field.context.has("quotas"), let text = field.text() {
                field.error("no quota is named \(text.shown): declare it in quotas")
                return nil
            }
            return field.name(among: field.context.quotas.map(\.name)) {
                "no quota is named \($0)"
            }
        }
    }
}
