import Background
import RedisKeyStore
import Settings

/// Checks the list of withdrawn Android certificates, without which no Android key enrols.
extension DoctorCommand {
    static func androidRevocations(_ settings: Settings, _ report: DoctorReport) {
        guard let revocation = settings.neededRevocation else { return }
        let (verdict, text) = finding(revocation, settings)
        report.tell(verdict, "trust.android.revocation", text)
    }

    private static func finding(
        _ revocation: AndroidRevocationSettings, _ settings: Settings
    ) -> (RedisCheckupStep.Verdict, String) {
        let place = revocation.url ?? revocation.path ?? ""
        do {
            switch try RevocationCheckup.ask(revocation) {
            case nil:
                return (
                    .warning, "off: keys of withdrawn certificates can enrol, and are never revoked"
                )
            case .failure(let reason)?:
                return (.failure, "\(place): \(reason); \(rest(revocation, settings))")
            case .list(let count, let age, let life)?:
                let entries = "\(place), entries: \(count)"
                guard age < revocation.ageMax else {
                    return (
                        .failure,
                        "\(entries), \(text(age)) old, which is max_age or more: no Android key "
                            + "can enrol"
                    )
                }
                if revocation.url != nil {
                    return (.ok, "\(entries); it is fetched again after \(text(life))")
                }
                return (.ok, "\(entries), \(text(age)) old")
            }
        } catch {
            let reason = revocation.url == nil ? "\(error)" : "\(place): \(error)"
            return (.failure, "\(reason); \(rest(revocation, settings))")
        }
    }

    /// The consequence of a list that cannot be read now.
    private static func rest(
        _ revocation: AndroidRevocationSettings, _ settings: Settings
    ) -> String {
        do {
            guard let age = try RevocationCheckup.keptAge(settings), age >= .zero else {
                return "a gateway that starts now enrols no Android key"
            }
            return "the gateway has kept a list, \(text(age)) old"
                + (age < revocation.ageMax ? "" : ", which is too old to count")
        } catch {
            return "\(error)"
        }
    }

    private static func text(_ duration: Duration) -> String {
        let minutes = duration.components.seconds / 60
        return switch minutes {
        case ..<120: "\(minutes)m"
        case ..<2880: "\(minutes / 60)h"
        default: "\(minutes / 1440)d"
        }
    }
}
