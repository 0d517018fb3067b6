import Judgement
import Policy
import Testing

@Suite("What the app is, judged without a gateway")
struct AppJudgementTests {}

extension AppJudgementTests {
    private static let bank = "TEAM.bank"
    private static let game = "TEAM.game"

    private func app(
        _ id: String? = bank, tier: TrustTier = .attested,
        environments: KeyEnvironments = .production, category: UInt32? = nil,
        version: String? = nil
    ) -> JudgedRequest.Proof {
        .holds(
            tier,
            ProvenFacts(
                appID: id, environments: environments, validationCategory: category,
                bundleVersion: version))
    }

    private func outcome(
        _ proof: JudgedRequest.Proof, _ configure: @escaping (inout RoutePolicy) -> Void
    ) -> Outcome { verdict(on: proof, JudgedDemand(configure)).outcome }

    @Test("a key, a session token or a developer token opens no route of another app")
    func apps() {
        let proofs: [(String?) -> JudgedRequest.Proof] = [
            { self.app($0) }, { self.app($0, tier: .token) },
            { .openToken(ProvenFacts(appID: $0)) }, { .developer(.token, appID: $0) },
        ]
        for proof in proofs {
            for taken in [RouteApps.unnamed, .any, .named([Self.bank], areAll: true)] {
                let open: (inout RoutePolicy) -> Void = {
                    $0.apps = taken
                    $0.onStoreFailure = .tokensOnly
                }
                #expect(outcome(proof(Self.game), open).decision.forwards)
            }
            let only: (inout RoutePolicy) -> Void = {
                $0.apps = .named([Self.bank], areAll: false)
                $0.onStoreFailure = .tokensOnly
                // A good proof of the wrong app is not a bad proof.
                $0.onInvalid = .pass
            }
            #expect(outcome(proof(Self.bank), only).decision.forwards)
            for other in [Self.game, nil] {
                #expect(
                    outcome(proof(other), only) == .refused(.distributionNotAllowed, .appMismatch))
            }
        }
    }

    @Test("environments and categories let in what they name, and what is not known if they say so")
    func distribution() {
        let both: KeyEnvironments = [.production, .development]
        for (taken, has, isTaken) in [
            (KeyEnvironments.production, KeyEnvironments.production, true),
            (.production, .development, false), (.development, .production, false),
            (both, .development, true), (.production, both, false),
        ] {
            let outcome = outcome(app(environments: has)) { $0.environments = taken }
            let refused = Outcome.refused(.distributionNotAllowed, .environment)
            #expect(outcome == (isTaken ? Outcome(.verified) : refused), "\(taken) \(has)")
        }
        for (orMissing, category, refusal) in [
            (false, 4, nil), (true, nil, nil), (true, 4, nil), (false, nil, .categoryMissing),
            (false, 2, .category), (true, 2, .category), (true, .max, .category),
        ] as [(Bool, UInt32?, Cause.Check?)] {
            let outcome = outcome(app(category: category)) {
                $0.categories = AppCategories([4], orMissing: orMissing)
            }
            #expect(
                outcome == refusal.map { .refused(.distributionNotAllowed, $0) }
                    ?? Outcome(.verified))
        }
    }

    /// Of an app that has bounds of its own, and of others.
    private static func versions(_ missing: VersionRule.Unknown = .deny) throws -> VersionRule {
        let (min, grace) = (try #require(BundleVersion("4.10")), try #require(BundleVersion("4.2")))
        var rule = VersionRule(common: VersionBounds(min: min, grace: grace))
        rule.apps[game] = VersionBounds(min: grace)
        rule.missing = missing
        return rule
    }

    @Test("an old app is served, told, or refused, by its version")
    func versions() throws {
        let rule = try Self.versions()
        for (id, version, refusal, isOutdated) in [
            (Self.bank, "4.10", nil, false), (Self.bank, "4.9.1", nil, true),
            (Self.bank, "4.2", nil, true), (Self.bank, "4.1", .version, false),
            (Self.bank, "four", .versionMalformed, false),
            (Self.bank, nil, .versionMissing, false),
            (Self.game, "4.9", nil, false), (Self.game, "4.1", .version, false),
        ] as [(String, String?, Cause.Check?, Bool)] {
            // Also what a session token says of the app that it was issued to.
            for tier in [TrustTier.attested, .token] {
                let verdict = verdict(
                    on: app(id, tier: tier, version: version), JudgedDemand { $0.versions = rule })
                #expect(
                    verdict.outcome == refusal.map { .refused(.appOutdated, $0) }
                        ?? Outcome(.verified))
                #expect(verdict.isOutdated == isOutdated, "\(id) \(version ?? "none")")
                #expect(verdict.bucket == (refusal == nil ? .verified : .outdatedClient))
            }
        }
        #expect(Reason.appOutdated.action == .updateApp)
    }

    @Test("an app that tells no version is treated as the rule says")
    func missingVersion() throws {
        for (missing, expected, isOutdated) in [
            (VersionRule.Unknown.deny, Outcome.refused(.appOutdated, .versionMissing), false),
            (.outdated, Outcome(.verified), true), (.pass, Outcome(.verified), false),
        ] {
            let rule = try Self.versions(missing)
            let verdict = verdict(on: app(), JudgedDemand { $0.versions = rule })
            #expect(verdict.outcome == expected && verdict.isOutdated == isOutdated)
        }
    }

    @Test("what is not taken by its word is told nothing of its version")
    func untakenVersion() throws {
        let rule = try Self.versions()
        var request = JudgedRequest(
            JudgedDemand {
                $0.versions = rule
                $0.onInvalid = .pass
            }, laterFault: Refusal(.assertionReplayed))
        let verdict = request.verdict(on: app(version: "4.9"))
        #expect(verdict.outcome == Outcome(.tolerated, .assertionReplayed) && !verdict.isOutdated)
    }
}
