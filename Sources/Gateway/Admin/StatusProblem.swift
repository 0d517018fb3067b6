/// A problem that an operator should know of, and what to do about it.
struct StatusProblem {
    /// The urgency of a problem, the worst last.
    enum Level: Int, Comparable {
        case ok
        /// Nothing is wrong, but the operator has chosen something that should not be forgotten.
        case note
        /// Requests are served, but an operator should look.
        case warning
        /// Requests are refused, or requests pass that should not.
        case error

        var name: StaticString {
            switch self {
            case .ok: "ok"
            case .note: "note"
            case .warning: "warning"
            case .error: "error"
            }
        }

        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// The stable name of a problem, for programs. docs/operations/status.md lists all of them,
    /// with the alarms that mean the same.
    enum Name: String, CaseIterable {
        case storeDown = "store_down"
        case revocationsUnheard = "revocations_unheard"
        case jwksMissing = "jwks_missing"
        case jwksStale = "jwks_stale"
        case androidListMissing = "android_list_missing"
        case androidListStale = "android_list_stale"
        case androidKeysUnrevoked = "android_keys_unrevoked"
        case androidKeysRevoked = "android_keys_revoked"
        case rolloutUnknown = "rollout_unknown"
        case upstreamDown = "upstream_down"
        case upstreamFailures = "upstream_failures"
        case serverErrors = "server_errors"
        case retriesDenied = "retries_denied"
        case internalFailures = "internal_failures"
        case certificateEnding = "certificate_ending"
        case reloadFailed = "reload_failed"
        case serverDown = "server_down"
        case rolloutHeld = "rollout_held"
        case signatureLibrary = "signature_library_distrusted"
        case signatureLibraryUnusable = "signature_library_unusable"
        case extraRoots = "extra_roots"
        case developerTokens = "developer_tokens"
        case storeUnavailable = "store_unavailable"
        case registryFailed = "registry_failed"
        case floorsUnkept = "floors_unkept"
        case quotasUncounted = "quotas_uncounted"
        case quotaNumbersMissing = "quota_numbers_missing"
        case registryLog = "registry_log"
        case gatewayBusy = "gateway_busy"
        case checkRefused = "check_refused"
        case keyConflicts = "key_conflicts"
        case logLinesLost = "log_lines_lost"
        case logReopenFailed = "log_reopen_failed"
        case logStuck = "log_stuck"
        case exportFailing = "export_failing"
        case invalidProofs = "invalid_proofs"
        case challengesExpired = "challenges_expired"
        case versionRefused = "version_refused"
        case appleDown = "apple_down"
        case buildBroken = "build_broken"
        case keysDying = "keys_dying"
        case receiptsOverdue = "receipts_overdue"
        case receiptInvalid = "receipt_invalid"
        case appleKeyRefused = "apple_key_refused"
        case descriptors
        case draining
        case problemDetail = "problem_detail"
        case capture
    }

    let level: Level
    let name: Name
    /// A sentence that says what is wrong.
    let text: String
    /// A sentence that says what to do.
    let remedy: String

    init(_ level: Level, _ name: Name, _ text: String, _ remedy: String) {
        (self.level, self.name, self.text, self.remedy) = (level, name, text, remedy)
    }
}

/// All problems, and the sentence that begins the status page.
struct StatusVerdict {
    /// The problems, the worst first.
    let problems: [StatusProblem]

    init(_ problems: [StatusProblem]) {
        // Of two equally bad ones the one that was found first comes first: they are in the order
        // of causes.
        self.problems = problems.enumerated()
            .sorted { ($1.element.level, $0.offset) < ($0.element.level, $1.offset) }
            .map(\.element)
    }

    /// The level of the headline; never a note, because with nothing but notes everything is in
    /// order.
    var level: StatusProblem.Level { headline?.level ?? .ok }

    /// The problem of the first sentence; nil if everything is in order.
    var headline: StatusProblem? { problems.first { $0.level > .note } }

    /// The problems below the first sentence.
    var others: ArraySlice<StatusProblem> { problems.dropFirst(headline == nil ? 0 : 1) }

    var sentence: String {
        guard let first = headline else { return "Everything is in order." }
        let others = others.count { $0.level > .note }
        let rest =
            others == 0
            ? "" : " \(others) more \(others == 1 ? "thing needs" : "things need") attention."
        return "\(first.text) \(first.remedy)\(rest)"
    }
}
