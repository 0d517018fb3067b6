import Policy

/// Declares `attest` of a route.
struct AttestReader {
    let proofs: [ProofSettings]

    func form(_ start: Route) -> Form<Route> {
        let member = Kind<String>.text(.text("at most 128 bytes"), "is longer than 128 bytes") {
            $0.utf8.count <= 128
        }
        return Form(start) {
            Setting(
                "mode", \.attest.mode, .word, required: true,
                "off: nothing is verified. observe: requests are verified, counted, logged and "
                    + "forwarded whatever the verdict. enforce: only verified requests are "
                    + "forwarded.")
            Setting(
                "client_data", \.attest.clientData, .word,
                "What the app signs. header: the JSON {challenge, method, path, bodySHA256}, sent "
                    + "as base64 in headers.client_data. body: the request body; method and path "
                    + "are then not signed.")
            Setting(
                "body", \.attest.body, .word,
                "What a listener with check must have seen of a body. claimed: nothing; the "
                    + "upstream must compare the body with X-Attest-Body-SHA256, the digest that "
                    + "the app signed. For client_data: header only."
            ) { field, route in
                guard route.attest.body == .claimed else { return }
                field.warning(
                    "claimed lets a body pass without comparing it with its signature: the "
                        + "upstream must compare X-Attest-Body-SHA256")
            }
            Setting(
                "challenge", \.attest.challenge, .word,
                "Whether the signed data must hold a challenge. off needs replay: durable.")
            Setting(
                "replay", \.attest.replay, Self.replay,
                "Which counters are accepted. strict: each above the last. durable: as strict, but "
                    + "compared in the registry, at one commit for each request. { window: N }: "
                    + "also, once, one a little below the last.")
            Setting(
                "rollout", \.rolloutShare, RolloutReader.kind,
                "The share of keys that enforce refuses; the others are observed. A share that "
                    + "moves by itself is shared by all gateways of a registry; `sallyport "
                    + "rollout` shows and moves it. Another start or route name begins a new "
                    + "rollout.")
            Setting(
                "accept", \.attest.accepted,
                AcceptReader(proofs: proofs).kind,
                "What proves a request: assertion, token (see session_tokens), device_check, "
                    + "proof:NAME (see proofs), developer (see developer_tokens; not in "
                    + "production). The first that a request brings decides, in this order."
            ) { field, route in
                guard route.attest.accept.contains(.developer) else { return }
                field.warning(
                    "developer lets in anyone with a developer token, which proves nothing about "
                        + "an app: not in production")
            }
            ShortfallReader.settings
            RestrictionReader.settings
            Setting(
                "challenge_member", \.attest.challengeMember, member, standard: "challenge",
                printed: { $0.attest.clientData == .body },
                "The member of the JSON body that holds the challenge. For client_data: body only.")
            Setting(
                "key_id_member", optional: \.attest.keyIDMember, member,
                "The member of the JSON body that holds the key id. For client_data: body only. "
                    + "If left out, the key id comes in a header.")
        }
    }

    static func check(_ section: inout Section, _ route: inout Route) {
        let policy = route.attest
        ShortfallReader.check(&section, policy)
        if !section.isFaulty("mode") { RestrictionReader.check(&section, mode: policy.mode) }
        warn(policy, section)
        // `check --print` names every standard value.
        let isStandard = route.rollout == nil && policy.rolloutPercent == 100
        if policy.mode != .enforce, !isStandard, !section.isFaulty("mode") {
            section.field("rollout")?.warning(
                "does nothing with mode \(policy.mode): it is the share of keys that enforce "
                    + "refuses")
        }
        if policy.clientData != .body {
            section.refuse(
                ["challenge_member", "key_id_member"], "is used with client_data: body only")
        } else if policy.body == .claimed {
            section.field("body")?.error(
                "claimed needs client_data: header: in the body shape the body is what is signed")
        }
        if policy.mode != .off, policy.challenge == .off, !section.isFaulty("replay"),
            policy.replay != .durable
        {
            section.field("challenge")?.error(
                "challenge: off needs replay: durable, because without a challenge only the "
                    + "registry's counter outlives a restart")
        }
    }

    /// Warns of settings that demand less than they seem to.
    private static func warn(_ policy: RoutePolicy, _ section: borrowing Section) {
        guard policy.mode == .enforce else { return }
        if policy.onMissing == .deny, policy.onInvalid != .deny {
            section.warning(
                "on_invalid lets any nonsense pass as a proof, while on_missing refuses requests "
                    + "with none")
        }
        if policy.onMissing == .pass, policy.isDemanding || policy.minTier > .none {
            section.warning(
                "on_missing: pass lets anyone who sends no proof get around min_tier, apps, "
                    + "environments, categories, min_bundle_version and risk")
        }
    }

    private static var replay: Kind<ReplayPolicy> {
        let window = Kind.section(
            "window",
            .count(1...ReplayPolicy.windowSizeMax, "the stores remember that many counters a key"),
            "For apps with several requests in flight: a counter so little below the last passes "
                + "too, once."
        ).map(
            { ReplayPolicy.window($0) },
            from: { if case .window(let size) = $0 { size } else { nil } })
        return .words([("strict", .strict), ("durable", .durable)])
            .or(window, hint: ("window", "needs its size: write { window: 64 }"))
    }
}

extension Route {
    fileprivate var rolloutShare: RolloutShare {
        get { RolloutShare(percent: attest.rolloutPercent, plan: rollout) }
        set { (attest.rolloutPercent, rollout) = (newValue.percent, newValue.plan) }
    }
}
