import YAML

/// Declares `rate_limits`, and the names by which other settings refer to its entries.
enum RateLimitReader {
    /// The built-in limits and those of the configuration, which replace built-in ones of the same
    /// name.
    static var kind: Kind<[RateLimitSettings]> {
        // A faulty limit is kept, so that references to it are not reported as unknown.
        let limit = Kind.section(form, keepsFaulty: true, check: check)
        let named = Kind<[RateLimitSettings]>.named("NAME", limit, \.name) {
            $0 != "off"
        }
        return named.reading { field in
            guard let read = named.read(field) else { return nil }
            var limits = RateLimitSettings.builtIn
            for limit in read {
                if let index = limits.firstIndex(where: { $0.name == limit.name }) {
                    limits[index] = limit
                } else {
                    limits.append(limit)
                }
            }
            // Settings that are read later may name them.
            field.context.rateLimits = limits
            return limits
        }
    }

    /// Reports limits by key in a `rate_limit` that applies before a key is verified.
    static func refuseKeys(in field: Field) {
        _ = Kind<[String]>.rateLimits(allowingKey: false).read(field)
    }

    private static func check(_ section: inout Section, _ limit: inout RateLimitSettings) {
        if section.field("burst") == nil { limit.burst = limit.rate.count }
        if limit.subject != .address, !section.isFaulty("by") {
            section.field("except")?.error("only a limit by address has addresses to except")
        }
    }

    private static var form: Form<RateLimitSettings> {
        let start = RateLimitSettings(
            name: "", subject: .global,
            rate: RateLimitSettings.Rate(count: 1, period: .second), burst: 1)
        return Form(start) {
            Setting(
                "by", \.subject, .word, required: true,
                "What has a bucket of its own. address: each client address, for IPv6 each /64. "
                    + "key: each key with a verified assertion. global: all requests together.")
            Setting(
                "rate", \.rate, .rate, required: true,
                "Requests a second, minute or hour.")
            Setting(
                "burst", \.burst, .count(1...1_000_000, "a burst is what comes at once"),
                standard: "",
                "Requests at once after a pause. If left out, the number in rate.")
            Setting(
                "except", \.exempt, .list(.addressBlock), printed: { $0.subject == .address },
                "Blocks that are not counted, for by: address only. The built-in limits except "
                    + "private addresses, because all clients share one behind a proxy that "
                    + "trusted_proxies does not name.")
        }
    }
}

extension Kind where Value == RateLimitSettings.Rate {
    static var rate: Kind {
        Kind(
            .text("100/s, 30/m or 1000/h", pattern: "^[0-9]+/[smh]$"), plain: \.description,
            read: { $0.parse(parse) })
    }

    private static func parse(_ text: String) throws(Fault) -> RateLimitSettings.Rate {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let count = Quantity.count(String(parts[0])),
            let period = RateLimitSettings.Period(rawValue: String(parts[1]))
        else { throw Fault("is not a rate: write one like 100/s, 30/m or 1000/h") }
        guard (1...1_000_000).contains(count) else {
            throw Fault("is outside 1 to 1000000: no limit can refuse every request")
        }
        return RateLimitSettings.Rate(count: count, period: period)
    }
}

extension Kind where Value == [String] {
    /// `off`, the name of a rate limit, or a list of names.
    static func rateLimits(allowingKey: Bool = false) -> Kind {
        let name = Kind<String>.rateLimit(allowingKey: allowingKey)
        let names = Kind.list(name)
        return Kind(.either([.words(["off"]), name.shape, names.shape])) { field in
            if case .sequence = field.node.kind { return names.read(field) }
            return field.isScalar("off") ? [] : name.read(field).map { [$0] }
        } yaml: {
            $0.isEmpty ? .scalar("off") : names.yaml($0)
        }
    }
}

extension Kind where Value == String {
    /// The name of a rate limit.
    static func rateLimit(allowingKey: Bool) -> Kind {
        text(.text("name of rate_limits")) { field in
            let limits = field.context.rateLimits
            let name = field.name(among: limits.map(\.name)) { "no rate limit is named \($0)" }
            guard !allowingKey, let name,
                limits.contains(where: { $0.name == name && $0.subject == .key })
            else { return name }
            field.error("\(quoted(name)) counts by key, and here no key is verified")
            return nil
        }
    }
}

extension RateLimitSettings.Rate: CustomStringConvertible {
    public var description: String { "\(count)/\(period.rawValue)" }
}
