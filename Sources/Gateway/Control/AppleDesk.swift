import AppAttest
import AppleServices
import EventLoop
import HTTPSClient
import Settings

/// Where the gateway speaks with Apple's services: as the configuration says, counted, and loud
/// where a key is refused. The control thread's.
final class AppleDesk: AppleObserver {
    private let loop: EventLoop
    private let hub: Hub
    private var settings: AppleSettings?
    /// Nil where no key is configured. Requests under way end with the client that they began with.
    private(set) var client: AppleClient?

    init(loop: EventLoop, hub: Hub) {
        self.loop = loop
        self.hub = hub
    }

    /// What another configuration makes of it, once it is used.
    struct Change {
        fileprivate let settings: AppleSettings?
        fileprivate let client: AppleClient?
    }

    /// To be called at the start and at each reload, before anything else of it is in force; nil
    /// where nothing changes.
    func change(to next: AppleSettings?) throws(ConfigurationFailure) -> Change? {
        // What is known of keys, and connections, outlive a reload that does not concern them.
        guard next != settings else { return nil }
        do throws(HTTPSClientError) {
            let fresh = try next.map { settings throws(HTTPSClientError) in
                try AppleClient(loop: loop, settings.configuration)
            }
            fresh?.observer = self
            return Change(settings: next, client: fresh)
        } catch {
            throw ConfigurationFailure("apple: \(error)")
        }
    }

    func use(_ change: Change?) {
        guard let change else { return }
        settings = change.settings
        client = change.client
    }

    /// Ends what is under way, whose callers hear of it.
    func close() {
        client?.close()
        client = nil
        settings = nil
    }

    func appleAnswered(service: String, environment: AttestEnvironment, label: String) {
        hub.apple.count(
            AppleMeter.Requests(service: service, environment: environment, outcome: label))
    }

    func appleRefused(keyID: String, teamID: String, failure: AppleFailure) {
        hub.apple.countRefusal(of: AppleMeter.Key(teamID: teamID, keyID: keyID))
        hub.logs.event(
            level: "error", "apple_key_refused",
            "key \(keyID) of team \(teamID): \(failure); the next key of the team is tried")
    }
}
