import Background
import JWT
import RedisKeyStore
import Settings

/// Checks the keys of issuers whose tokens are accepted.
extension DoctorCommand {
    static func issuers(_ settings: Settings, _ report: DoctorReport) {
        for proof in settings.proofs {
            let (verdict, text) = finding(proof)
            report.tell(verdict, "proof \(proof.name)", text)
        }
    }

    private static func finding(
        _ proof: ProofSettings
    ) -> (RedisCheckupStep.Verdict, String) {
        switch proof.keys {
        case .secrets(let path, let secrets)?: return (.ok, "\(path), secrets: \(secrets.count)")
        case .file(let path, let document)?:
            do throws(JSONWebKeySetError) {
                let tally = try JSONWebKeySet(parsing: document.span)
                    .tally(for: Set(proof.algorithms))
                return (.ok, "\(path), pinned keys: \(tally.text)")
            } catch {
                return (.failure, "\(path): \(error)")
            }
        case .url(let url)?:
            do {
                guard let finding = try KeySetCheckup.ask(proof) else { return (.failure, url) }
                return describe(finding, url)
            } catch {
                return (.failure, "\(url): \(error)")
            }
        case nil: return (.failure, "no keys")
        }
    }

    private static func describe(
        _ finding: KeySetCheckup.Finding, _ url: String
    ) -> (RedisCheckupStep.Verdict, String) {
        switch finding {
        case .failure(let reason): return (.failure, "\(url): \(reason)")
        case .keys(let tally, let lifeSeconds):
            return (
                .ok,
                "\(url), keys: \(tally.text); they are fetched again after \(lifeSeconds / 60)m"
            )
        }
    }
}
