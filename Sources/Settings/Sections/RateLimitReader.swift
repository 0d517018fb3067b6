import YAML

/// Reads `rate_limits`, and the names by which others refer to its entries.
enum RateLimitReader {
    /// The built-in limits, replaced where the configuration has one of the same name, and the
    /// configuration's own.
    private static func limits(_ field: Field) -> [RateLimitSettings]? {
        guard let fields = field.namedFields() else { return nil }
        var limits = RateLimitSettings.builtIn
        for field in fields {
            if !Name.isValid(field.key) || field.key == off {
                field.context.error("\(quoted(field.key)) \(Name.rule)", at: field.keyMark)
            }
            guard let limit = field.section({ limit(field, &$0) }) ?? nil else { continue }
            if let index = limits.firstIndex(where: { $0.name == limit.name }) {
                limits[index] = limit
            } else {
                limits.append(limit)
            }
        }
        // Whatever is read later may name them.
        field.context.rateLimits = limits
        return limits
    }

    private static let off = "off"

    private static func limit(_ field: Field, _ section: inout Section) -> RateLimitSettings? {
        let subject = section.required("by").flatMap(Kind<RateLimitSettings.Subject>.word.read)
        let rate = section.required("rate").flatMap(rate)
        var burst = rate?.count ?? 1
        section.set("burst", &burst, Self.burst.read)
        var exempt: [AddressBlock] = []
        if let except = section.field("except") {
            exempt =
                except.list { field in field.text().flatMap { field.addressBlock($0) } } ?? []
            if let subject, subject != .address {
                except.error("only a limit by address has addresses to except")
            }
        }
        guard let subject, let rate else {
            // Whoever refers to it is not to be told that it does not exist.
            return RateLimitSettings(
                name: field.key, subject: .global,
                rate: RateLimitSettings.Rate(count: 1, period: .second), burst: 1)
        }
        return RateLimitSettings(
            name: field.key, subject: subject, rate: rate, burst: burst, exempt: exempt)
    }

    private static var burst: Kind<Int> { .count(1...1_000_000, "a burst is what comes at once") }

    private static var shape: Shape {
        .named(
            "NAME",
            .section([
                Entry(
                    "by", Kind<RateLimitSettings.Subject>.word.shape, required: true,
                    "address: each client address (of IPv6 the whole /64). key: each key, once its "
                        + "assertion is verified. global: all together."),
                Entry(
                    "rate", Kind.rate.shape, required: true,
                    "Requests a second, minute or hour."),
                Entry(
                    "burst", burst.shape,
                    "How many may come at once after a pause. Left out: the number in rate."),
                Entry(
                    "except", .list(.text("address block")),
                    "With by: address only: blocks that are not counted."),
            ]))
    }

    static var kind: Kind<[RateLimitSettings]> {
        Kind(shape, read: limits) { key, limits, yaml in
            yaml.mapping(key) { yaml in
                for limit in limits {
                    yaml.mapping(YAMLText.scalar(limit.name)) { write(limit, to: &$0) }
                }
            }
        }
    }

    private static func write(_ limit: RateLimitSettings, to yaml: inout YAMLText) {
        yaml.entry("by", limit.subject.rawValue)
        yaml.entry("rate", limit.rate.description)
        yaml.entry("burst", "\(limit.burst)")
        if limit.subject == .address {
            yaml.entry("except", list: limit.exempt.map(\.description))
        }
    }

    static func rate(_ field: Field) -> RateLimitSettings.Rate? {
        guard let text = field.text() else { return nil }
        let parts = text.value.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Quantity.count(String(parts[0])),
            let period = RateLimitSettings.Period(rawValue: String(parts[1]))
        else {
            field.error("\(text.shown) is not a rate: write one like 100/s, 30/m or 1000/h")
            return nil
        }
        guard (1...1_000_000).contains(count) else {
            field.error("\(text.shown) is outside 1 to 1000000: to let nobody in leave it out")
            return nil
        }
        return RateLimitSettings.Rate(count: count, period: period)
    }
}

extension Kind where Value == RateLimitSettings.Rate {
    static var rate: Kind {
        Kind(
            .text("rate: 100/s, 30/m or 1000/h", pattern: "^[0-9]+/[smh]$"), plain: \.description,
            read: RateLimitReader.rate)
    }
}

extension Kind where Value == [String] {
    /// The names of rate limits; `off` without any.
    static func rateLimits(allowingKey: Bool = false) -> Kind {
        let name = Shape.text("name of rate_limits")
        return Kind(.either([.words(["off"]), name, .list(name)])) {
            $0.rateLimitNames(allowingKey: allowingKey)
        } write: { key, names, yaml in
            if names.isEmpty { yaml.entry(key, "off") } else { yaml.entry(key, list: names) }
        }
    }
}

extension Field {
    /// `off`, the name of a rate limit, or a list of names; nil, with a report, for others.
    func rateLimitNames(allowingKey: Bool) -> [String]? {
        if case .sequence = node.kind {
            return list { $0.rateLimitName(allowingKey: allowingKey) }
        }
        guard let text = text() else { return nil }
        if text.value == "off" { return [] }
        return rateLimitName(allowingKey: allowingKey).map { [$0] }
    }

    /// The name of a rate limit.
    func rateLimitName(allowingKey: Bool) -> String? {
        guard let text = text() else { return nil }
        let limits = context.rateLimits
        guard let limit = limits.first(where: { $0.name == text.value }) else {
            let ending = Suggestion.ending(
                for: text.value, among: limits.map(\.name), listing: true)
            error("no rate limit is named \(text.shown)\(ending)")
            return nil
        }
        guard allowingKey || limit.subject != .key else {
            error("\(text.shown) counts by key, and here no key is verified")
            return nil
        }
        return limit.name
    }
}

extension RateLimitSettings.Rate: CustomStringConvertible {
    public var description: String { "\(count)/\(period.rawValue)" }
}
