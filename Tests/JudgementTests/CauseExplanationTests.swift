import Attestation
import Foundation
import HTTP
import Judgement
import Testing

@Suite("Explanations of causes")
struct CauseExplanationTests {}

extension CauseExplanationTests {
    private static let all = CauseTable.sections.flatMap(\.explanations)

    /// What stands in the repository under this path.
    private static func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test("every cause has one of its own, not only its reason's")
    func causes() {
        for (reason, cause) in EveryCause.all {
            let found = CauseExplanation.of(reason, cause)
            let isOwn = found.details.contains { $0.matches(cause.text) }
            #expect(isOwn, "\(cause.text) has no row in a CauseTable")
            #expect(EveryCause.isCovered(cause))
        }
        #expect(EveryCause.all.count > 180)
    }

    @Test("every reason has one, for lines without a detail")
    func reasons() {
        for reason in Reason.allCases {
            let found = CauseExplanation.of(reason, nil)
            #expect(found.details.isEmpty && found.reasons.contains(reason), "\(reason)")
        }
    }

    @Test("every fault of HTTP is explained with the reason that its status leads to")
    func statuses() {
        for fault in HTTPFault.allCases {
            let found = CauseExplanation.of(.badRequest, .httpFault(fault))
            #expect(found.reasons.allSatisfy { $0.status == fault.status }, "\(fault.code)")
        }
    }

    @Test("one word has another meaning with another reason")
    func reasonsDecide() {
        func fault(_ reason: Reason, _ detail: String) -> String? {
            CauseExplanation.find(reason: "\(reason.code)", detail: detail)?.meaning
        }
        #expect(fault(.attestationInvalid, "app_mismatch")?.contains("not configured") == true)
        #expect(fault(.distributionNotAllowed, "app_mismatch")?.contains("route") == true)
        #expect(fault(.assertionInvalid, "app_mismatch")?.contains("assertion") == true)
        #expect(fault(.keyUnknown, "erased") != fault(.attestationInvalid, "erased"))
        #expect(
            fault(.gatewayBusy, "registry_timeout") != fault(.storeUnavailable, "registry_timeout"))
        #expect(fault(.rateLimited, "rate: few") != fault(.rateLimited, "rate: few (key_unknown)"))
    }

    @Test("a detail of another version leaves the reason's explanation, and no reason none")
    func unknown() {
        let known = CauseExplanation.find(reason: "assertion_invalid", detail: "of_next_year")
        #expect(known == CauseExplanation.of(.assertionInvalid, nil))
        #expect(CauseExplanation.find(reason: "of_next_year", detail: nil) == nil)
        #expect(CauseExplanation.find(reason: "of_next_year", detail: "x") == nil)
        #expect(CauseExplanation.find(reason: "", detail: "") == nil)
    }

    @Test(
        "texts with a part that varies are known by their form",
        arguments: [
            ("rate: <limit>", "rate: few", true), ("rate: <limit>", "rate: ", false),
            ("rate: <limit> (<reason>)", "rate: few (key_unknown)", true),
            ("rate: <limit> (<reason>)", "rate: few", false),
            ("rate: <limit> (<reason>)", "rate:  ()", false),
            ("x5c[<n>] is not", "x5c[12] is not", true), ("x5c[<n>] is not", "x5c[] is not", false),
            ("a<n>a", "aa", false), ("a<n>a", "aaa", true), ("word", "word", true),
            ("word", "words", false), ("<n> of <n> in <n>", "1 of 2 in 3", true),
            ("<n> of <n> in <n>", "1 in 2 of 3", false), ("connect: <why>", "connect", false),
        ])
    func forms(form: String, detail: String, isMatch: Bool) {
        #expect(CausePattern(stringLiteral: form).matches(detail) == isMatch)
    }

    @Test("they are sentences that fit a table's cell and a problem document")
    func sentences() {
        for explanation in Self.all {
            for text in [explanation.meaning, explanation.remedy] {
                let isPlain = text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
                #expect(isPlain && !text.contains { "|`<>\"\\".contains($0) }, "\(text)")
                #expect(text.hasSuffix(".") && !text.contains("  "), "\(text)")
            }
            #expect(!explanation.reasons.isEmpty)
        }
        let faults = Set(Self.all.map(\.fault))
        #expect(faults == Set(CauseExplanation.Party.allCases))
    }

    @Test("the settings that they name exist")
    func settings() throws {
        let page = try Self.file("docs/settings.md")
        let known = page.matches(of: /(?m)^- `([^`]+)`/).map(\.output.1)
        for explanation in Self.all {
            let text = explanation.meaning + " " + explanation.remedy
            for name in text.matches(of: /\b[a-z_]+(?:\[\])?(?:\.(?:[a-z_]+|NAME))+\b/).map(
                \.output)
            where !name.hasPrefix("devicecheck.") {
                #expect(
                    known.contains { $0 == name || $0.hasSuffix("." + name) },
                    "\(name) is no setting")
            }
        }
    }

    @Test("docs/causes.md is the page that the program prints")
    func page() throws {
        #expect(
            try Self.file("docs/causes.md") == CausePage.text,
            "out of date: sallyport explain causes > docs/causes.md")
    }
}
