import AndroidAttestation
import EventLoop
import HTTPSClient
package import Settings

/// Asks for the list of withdrawn Android certificates once, for `doctor`.
package enum RevocationCheckup {
    package enum Finding {
        /// `entryCount`: the entries that refuse a certificate.
        case list(entryCount: Int, age: Duration, life: Duration)
        case failure(String)
    }

    /// Fetches or reads the list as a gateway does. Blocks. Nil if none is looked up.
    package static func ask(_ settings: AndroidRevocationSettings) throws -> Finding? {
        switch settings.source {
        case .url(let url):
            let result = try HTTPSClient.fetch(
                .document(at: url),
                settings.configuration(byteCountMax: RevocationList.byteCountMax))
            return Finding(RevocationAnswer(result, refresh: settings.refresh))
        case .file(let path):
            let content = try RevocationContent(
                of: path, wallMilliseconds: WallClock.milliseconds())
            return Finding(
                RevocationAnswer(content.document, age: content.age, life: settings.refresh))
        case .off: return nil
        }
    }

    /// The age of the list that the gateway of these settings has fetched and kept; nil if it has
    /// kept none, or cannot. Blocks.
    package static func keptAge(_ settings: Settings) throws -> Duration? {
        guard let url = settings.neededRevocation?.url, let file = RevocationFile(settings),
            let kept = try file.read(), kept.url == url
        else { return nil }
        return .milliseconds(WallClock.milliseconds() - kept.fetchedAtMilliseconds)
    }
}

extension RevocationCheckup.Finding {
    fileprivate init(_ answer: RevocationAnswer) {
        switch answer {
        case .list(let list, _, let age, let life):
            self = .list(entryCount: list.count, age: age, life: life)
        case .none(_, let reason): self = .failure(reason)
        }
    }
}
