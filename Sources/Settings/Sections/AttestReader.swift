import Policy
import YAML

/// A policy, what it demands beside a proof, and where its mode is named.
struct PlacedPolicy {
    var policy: AttestPolicy
    var rollout: RolloutPlan?
    var restrictions: RouteRestrictions
    var modeMark: YAMLMark
    /// False where the mode is missing or faulty: nothing is concluded from it.
    var isModeKnown: Bool
}

/// Reads `attest` of a route.
enum AttestReader {
    private static var window: Kind<Int> {
        .count(1...ReplayPolicy.windowSizeMax, "the stores remember that many counters a key")
    }

    static var shape: Shape {
        let window = Entry(
            "window", window.shape, required: true,
            "Counters a little below the last pass too, once, for apps with several requests in "
                + "flight.")
        return .section(
            [
                Entry(
                    "mode", Kind<AttestMode>.word.shape, required: true,
                    "off: nothing is looked at. observe: verified, counted, logged, and forwarded "
                        + "whatever the verdict. enforce: only what is verified is forwarded."),
                Entry(
                    "client_data", Kind<ClientDataShape>.word.shape, standard: "header",
                    "header: base64 of JSON in headers.client_data. body: the request body itself "
                        + "is what the app signed; method and path are then not signed."),
                Entry(
                    "challenge", Kind<ChallengeRequirement>.word.shape, standard: "required",
                    "Whether a challenge is needed. off needs replay: durable."),
                Entry(
                    "replay", .either([.words(["strict", "durable"]), .section([window])]),
                    standard: "strict",
                    "strict: each counter above the last. durable: as strict, compared in the "
                        + "registry, which costs a commit for each request."),
                Entry(
                    "rollout", RolloutReader.shape, standard: "100%",
                    "The share of keys that enforce refuses; the others are only observed. A share "
                        + "that moves by itself is shared by the gateways of a registry."),
                Entry(
                    "accept", .list(.words(proofs.map(\.name))), standard: "[assertion]",
                    "What proves a request, one or more."),
            ] + ShortfallReader.entries + RestrictionReader.entries + [
                Entry(
                    "challenge_member", .text("at most 128 bytes"), standard: "challenge",
                    "With client_data: body only: the member of the JSON body that holds the "
                        + "challenge."),
                Entry(
                    "key_id_member", .text("at most 128 bytes"),
                    "With client_data: body only: the member that holds the key id."),
            ])
    }

    static func policy(_ field: Field) -> PlacedPolicy? {
        field.section { section in
            var policy = AttestPolicy()
            let modeField = section.required("mode")
            let mode = modeField?.choice(AttestMode.self)
            if let mode { policy.mode = mode }
            section.set("client_data", &policy.clientData) { $0.choice(ClientDataShape.self) }
            let challengeField = section.field("challenge")
            if let challenge = challengeField?.choice(ChallengeRequirement.self) {
                policy.challenge = challenge
            }
            var isReplayKnown = true
            if let replayField = section.field("replay") {
                let replay = replay(replayField)
                isReplayKnown = replay != nil
                policy.replay = replay ?? .strict
            }
            var plan: RolloutPlan?
            if let field = section.field("rollout") {
                RolloutReader.read(field, &policy.rolloutPercent, &plan)
            }
            let acceptField = section.field("accept")
            let accepted = acceptField.flatMap(accept)
            if let accepted { policy.accept = accepted }
            if policy.accept.contains(.developer) {
                acceptField?.warning(
                    "developer lets in whoever has a developer token, which proves nothing of an "
                        + "app: not in production")
            }
            let isAcceptKnown = acceptField == nil || accepted != nil
            var restrictions = RouteRestrictions()
            ShortfallReader(isAcceptKnown: isAcceptKnown).read(
                &section, into: &policy, &restrictions.limits)
            RestrictionReader.read(&section, into: &restrictions, isOff: mode == .off)
            if let mode, mode != .off { RestrictionReader.checkApps(&section, mode: modeField) }
            warn(policy, restrictions, section)
            let bodyMembers = [section.field("challenge_member"), section.field("key_id_member")]
            if let name = bodyMembers[0].flatMap(member) { policy.challengeMember = name }
            policy.keyIDMember = bodyMembers[1].flatMap(member)
            if policy.clientData != .body {
                for case let field? in bodyMembers {
                    field.error("is used with client_data: body only", at: field.keyMark)
                }
            }
            if policy.mode != .off, policy.challenge == .off, isReplayKnown,
                policy.replay != .durable
            {
                challengeField?.error(
                    "challenge: off needs replay: durable, because without a challenge only the "
                        + "registry's counter outlives a restart")
            }
            return PlacedPolicy(
                policy: policy, rollout: plan, restrictions: restrictions,
                modeMark: modeField?.mark ?? field.mark, isModeKnown: mode != nil)
        }
    }

    /// What demands less than it seems to.
    private static func warn(
        _ policy: AttestPolicy, _ restrictions: RouteRestrictions, _ section: borrowing Section
    ) {
        guard policy.mode == .enforce else { return }
        if policy.onMissing == .deny, policy.onInvalid != .deny {
            section.warning(
                "on_invalid lets requests with any nonsense for a proof pass, and on_missing "
                    + "refuses those with none")
        }
        if policy.onMissing == .pass, restrictions.isDemanding || policy.minTier > .none {
            section.warning(
                "on_missing: pass lets whoever sends no proof around min_tier, apps, environments, "
                    + "categories, min_bundle_version and risk")
        }
    }

    static let proofs: [(name: String, value: AcceptedProofs)] = [
        ("assertion", .assertion), ("token", .token), ("device_check", .deviceCheck),
        ("developer", .developer),
    ]

    private static func accept(_ field: Field) -> AcceptedProofs? {
        guard let listed = field.list({ $0.choice(proofs)?.rawValue }) else { return nil }
        guard !listed.isEmpty else {
            field.error("is empty: name what proves a request, or set mode: off")
            return nil
        }
        return AcceptedProofs(listed.map(AcceptedProofs.init(rawValue:)))
    }

    private static func replay(_ field: Field) -> ReplayPolicy? {
        guard field.isMapping else {
            if case .scalar("window", _) = field.node.kind {
                field.error("window needs its size: write { window: 64 }")
                return nil
            }
            return field.choice([("strict", ReplayPolicy.strict), ("durable", .durable)])
        }
        let size = field.section { section in
            section.required("window").flatMap(window.read)
        }
        return (size ?? nil).map(ReplayPolicy.window)
    }

    private static func member(_ field: Field) -> String? {
        guard let text = field.text() else { return nil }
        guard text.value.utf8.count <= 128 else {
            field.error("\(text.shown) is longer than 128 bytes")
            return nil
        }
        return text.value
    }
}
