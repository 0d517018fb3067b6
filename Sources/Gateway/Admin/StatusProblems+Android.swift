import Background
import EventLoop
import Settings

extension StatusInspection {
    /// The problems of the list of withdrawn Android certificates, and of the keys that it names.
    var android: [StatusProblem] {
        guard site.settings.hasAndroidApps, let figures = hub.androidRevocations.figures else {
            return []
        }
        let now = MonotonicInstant.now()
        return list(figures, at: now) + revoked(figures, at: now)
    }

    private func list(
        _ figures: RevocationState.Figures, at now: MonotonicInstant
    ) -> [StatusProblem] {
        let place = site.settings.trust.androidRevocation
        let source = place.url ?? place.path ?? ""
        let reason = figures.failure.map { ": " + Self.sentence($0) } ?? "."
        let remedy =
            figures.failedBy == .implausible
            ? "Look at \(source): a list like this is taken once it has stayed so for 6 hours."
            : "Make \(source) readable for the gateway."
        guard figures.isInForce(at: now) else {
            let state =
                figures.entryCount == nil
                ? "There is no list of withdrawn Android certificates yet"
                : "The list of withdrawn Android certificates is older than max_age"
            return [
                StatusProblem(
                    .error, .androidListMissing, "\(state), so no Android key can enrol\(reason)",
                    remedy)
            ]
        }
        guard figures.failure != nil, let age = figures.age(at: now) else { return [] }
        return [
            StatusProblem(
                .warning, .androidListStale,
                "The list of withdrawn Android certificates could not be renewed and is "
                    + "\(age.components.seconds / 60) minutes old\(reason)",
                remedy)
        ]
    }

    private func revoked(
        _ figures: RevocationState.Figures, at now: MonotonicInstant
    ) -> [StatusProblem] {
        var found: [StatusProblem] = []
        if let failure = figures.revokingFailure {
            found.append(
                StatusProblem(
                    .error, .androidKeysUnrevoked,
                    "Keys of withdrawn Android certificates could not be revoked: "
                        + Self.sentence(failure),
                    "Let the gateway write to the registry and the counter store; it tries again "
                        + "every minute."))
        }
        if let revokedAt = figures.revokedAt, now - revokedAt < Self.revokedShown {
            found.append(
                StatusProblem(
                    .warning, .androidKeysRevoked,
                    "Android keys were revoked in the last hour, because certificates that vouch "
                        + "for them were withdrawn: \(figures.revokedKeyCount) since the start.",
                    "sallyport audit names them: their phones can enrol again only with "
                        + "other certificates, and a leaked one was used by others."))
        }
        return found
    }

    private static let revokedShown = Duration.seconds(3600)
}
