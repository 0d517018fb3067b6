import Policy
import YAML

/// A policy, what it demands beside a proof, and where its mode is named.
struct PlacedPolicy {
    var policy = AttestPolicy()
    var rollout: RolloutPlan?
    var restrictions = RouteRestrictions()
    var modeMark = YAMLMark(line: 0, column: 0)
    /// False where the mode is missing or faulty: nothing is concluded from it.
    var isModeKnown = false
    /// False where it is faulty, likewise.
    var isReplayKnown = true
    var isAcceptKnown = true
}

/// Reads `attest` of a route.
enum AttestReader {
    static func policy(_ field: Field) -> PlacedPolicy? {
        field.section { section in
            var placed = PlacedPolicy(modeMark: field.mark)
            form.read(&section, into: &placed)
            let policy = placed.policy
            if placed.isModeKnown { RestrictionReader.check(&section, mode: policy.mode) }
            warn(policy, placed.restrictions, section)
            if policy.clientData != .body {
                for key in ["challenge_member", "key_id_member"] {
                    guard let field = section.field(key) else { continue }
                    field.error("is used with client_data: body only", at: field.keyMark)
                }
            }
            if policy.mode != .off, policy.challenge == .off, placed.isReplayKnown,
                policy.replay != .durable
            {
                section.field("challenge")?.error(
                    "challenge: off needs replay: durable, because without a challenge only the "
                        + "registry's counter outlives a restart")
            }
            return placed
        }
    }

    static var form: Form<PlacedPolicy> {
        let member = Kind.text(.text("at most 128 bytes"), member)
        return Form(PlacedPolicy()) {
            Setting(
                "mode", Kind<AttestMode>.word.shape, required: true,
                "off: nothing is looked at. observe: verified, counted, logged, and forwarded "
                    + "whatever the verdict. enforce: only what is verified is forwarded.",
                read: readMode
            ) { $1.entry("mode", $0.policy.mode.rawValue) }
            Setting(
                "client_data", \.policy.clientData, .word,
                "header: base64 of JSON in headers.client_data. body: the request body itself is "
                    + "what the app signed; method and path are then not signed.")
            Setting(
                "challenge", \.policy.challenge, .word,
                "Whether a challenge is needed. off needs replay: durable.")
            Setting(
                "replay", replay.shape,
                "strict: each counter above the last. durable: as strict, compared in the "
                    + "registry, which costs a commit for each request."
            ) { section, placed in
                guard let field = section.field("replay") else { return }
                let read = replay.read(field)
                placed.isReplayKnown = read != nil
                placed.policy.replay = read ?? .strict
            } write: { placed, yaml in
                replay.write("replay", placed.policy.replay, &yaml)
            }
            Setting(
                "rollout", RolloutReader.shape,
                "The share of keys that enforce refuses; the others are only observed. A share "
                    + "that moves by itself is shared by the gateways of a registry."
            ) { section, placed in
                guard let field = section.field("rollout") else { return }
                RolloutReader.read(field, &placed.policy.rolloutPercent, &placed.rollout)
            } write: { placed, yaml in
                let percent = placed.policy.rolloutPercent
                RolloutReader.write("rollout", percent, placed.rollout, to: &yaml)
            }
            Setting(
                "accept", .list(.words(proofs.map(\.name))), "What proves a request, one or more.",
                read: readAccept
            ) { placed, yaml in
                let accepted = proofs.filter { placed.policy.accept.contains($0.value) }
                yaml.entry("accept", list: accepted.map(\.name))
            }
            ShortfallReader.form
            RestrictionReader.form
            Setting(
                "challenge_member", member.shape, standard: "challenge",
                "With client_data: body only: the member of the JSON body that holds the "
                    + "challenge."
            ) { section, placed in
                section.set("challenge_member", &placed.policy.challengeMember, member.read)
            } write: { placed, yaml in
                guard placed.policy.clientData == .body else { return }
                yaml.entry("challenge_member", text: placed.policy.challengeMember)
            }
            Setting(
                "key_id_member", optional: \.policy.keyIDMember, member,
                "With client_data: body only: the member that holds the key id.")
        }
    }

    private static func readMode(_ section: inout Section, _ placed: inout PlacedPolicy) {
        guard let field = section.required("mode") else { return }
        placed.modeMark = field.mark
        guard let mode = Kind<AttestMode>.word.read(field) else { return }
        (placed.policy.mode, placed.isModeKnown) = (mode, true)
    }

    private static func readAccept(_ section: inout Section, _ placed: inout PlacedPolicy) {
        guard let field = section.field("accept") else { return }
        let accepted = accept(field)
        placed.isAcceptKnown = accepted != nil
        if let accepted { placed.policy.accept = accepted }
        if placed.policy.accept.contains(.developer) {
            field.warning(
                "developer lets in whoever has a developer token, which proves nothing of an "
                    + "app: not in production")
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

    private static var window: Kind<Int> {
        .count(1...ReplayPolicy.windowSizeMax, "the stores remember that many counters a key")
    }

    private static var replay: Kind<ReplayPolicy> {
        let words = Kind<ReplayPolicy>.words([("strict", .strict), ("durable", .durable)])
        let entry = Entry(
            "window", window.shape, required: true,
            "Counters a little below the last pass too, once, for apps with several requests in "
                + "flight.")
        return Kind(.either([words.shape, .section([entry])])) { field in
            guard field.isMapping else {
                if case .scalar("window", _) = field.node.kind {
                    field.error("window needs its size: write { window: 64 }")
                    return nil
                }
                return words.read(field)
            }
            let size = field.section { $0.required("window").flatMap(window.read) }
            return (size ?? nil).map(ReplayPolicy.window)
        } write: { key, replay, yaml in
            if case .window(let size) = replay {
                yaml.entry(key, "{ window: \(size) }")
            } else {
                words.write(key, replay, &yaml)
            }
        }
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
