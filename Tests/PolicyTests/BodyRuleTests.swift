import JSON
import Policy
import Testing

@Suite("BodyRule")
struct BodyRuleTests {}

extension BodyRuleTests {
    private func rule(_ change: (inout BodyRule) -> Void) throws -> BodyRule {
        var rule = BodyRule(pointer: try #require(JSONPointer("/model")))
        change(&rule)
        return rule
    }

    private func text(_ text: String) -> JSONMember { .string(Array(text.utf8)) }
    private func number(_ text: String) throws -> JSONMember {
        .number(try #require(JSONNumber(text)))
    }

    @Test("takes the values that it lists, of their own type")
    func values() throws {
        let rule = try rule { $0.values = [.text("gpt-x"), .text("1"), .number(2)] }
        for member in [text("gpt-x"), text("1"), try number("2"), try number("2.0")] {
            #expect(rule.allows(member), "\(member)")
        }
        let others = [
            text("gpt-xx"), text("GPT-X"), text("2"), text(""), try number("1"), try number("2.5"),
            try number("-2"), try number("1e300"), .absent, .other, .repeated,
        ]
        for member in others { #expect(!rule.allows(member), "\(member)") }
    }

    @Test("tells texts apart that Unicode calls equivalent, which are cut to one byte too many")
    func equivalentTexts() throws {
        for (own, sent) in [
            ("f\u{FC}r", "fu\u{308}r"), ("a;b", "a\u{37E}b"), ("Kimi", "\u{212A}imi"),
        ] {
            #expect(own == sent, "\(own): or else this shows nothing")
            let rule = try rule { $0.values = [.text(own)] }
            #expect(rule.allows(text(own)) && !rule.allows(text(sent)), "\(own)")
        }
    }

    @Test("takes numbers up to its bounds, and none below zero")
    func range() throws {
        let upTo = try rule { $0.max = 1024 }
        for text in ["0", "-0", "1", "1024", "1.024e3", "1023.5"] {
            #expect(upTo.allows(try number(text)), "\(text)")
        }
        for text in ["1025", "1024.0000000000000000001", "1e9", "-1", "-1e-9"] {
            #expect(!upTo.allows(try number(text)), "\(text)")
        }
        for member in [text("1"), .other, .repeated] { #expect(!upTo.allows(member)) }
        let between = try rule { ($0.min, $0.max) = (2, 3) }
        #expect(try between.allows(number("2")) && between.allows(number("3")))
        #expect(try !between.allows(number("1")) && !between.allows(number("4")))
        let from = try rule { $0.min = 2 }
        #expect(try from.allows(number("1e300")) && !from.allows(number("1")))
    }

    @Test("asks for a listed member and not for a bounded one, unless it says otherwise")
    func required() throws {
        #expect(try !rule { $0.values = [.number(1)] }.allows(.absent))
        #expect(try rule { $0.max = 1 }.allows(.absent))
        #expect(try rule { ($0.values, $0.required) = ([.number(1)], false) }.allows(.absent))
        #expect(try !rule { ($0.max, $0.required) = (1, true) }.allows(.absent))
    }

    @Test("makes a route stricter than one without it, as a quota does, whatever both let prove")
    func strictness() throws {
        var guarded = Route(
            name: "a", path: .exact("/a"), methods: [], upstream: 0, attest: RoutePolicy(),
            bodyByteCountMax: 1)
        guarded.attest.mode = .off
        let open = guarded
        guarded.bodyRules = [try rule { $0.max = 1 }]
        #expect(open.settingsBelow(guarded) == ["body_rules"])
        #expect(guarded.settingsBelow(open).isEmpty)
        var further = guarded
        further.bodyRules.append(try rule { $0.max = 2 })
        #expect(guarded.settingsBelow(further) == ["body_rules"])
        #expect(further.settingsBelow(guarded).isEmpty)
        further.quotas = ["tokens"]
        #expect(guarded.settingsBelow(further) == ["body_rules", "quota"])
        guarded.quotas = ["tokens", "more"]
        #expect(guarded.settingsBelow(further) == ["body_rules"])
        #expect(further.settingsBelow(guarded) == ["quota"])
        guarded.quotas = ["tokens"]
        further.attest.mode = .enforce
        guarded.attest.mode = .enforce
        #expect(guarded.settingsBelow(further) == ["body_rules"])
    }
}
