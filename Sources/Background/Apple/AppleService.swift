import AppAttest
package import AppleServices
package import Attestation
package import EventLoop
import HTTPSClient
package import Settings

/// The gateway's side of Apple's services. It works as the configuration says, counts, and reports
/// each key that Apple refuses. It belongs to the control thread.
package final class AppleService: AppleObserver {
    private let loop: EventLoop
    private let meter: AppleMeter
    private let log: any EventLog
    private var settings: AppleSettings?
    /// The client; nil if no key is configured. Requests in flight stay with the client that they
    /// began with.
    package private(set) var client: AppleClient?

    package init(loop: EventLoop, meter: AppleMeter, log: any EventLog) {
        self.loop = loop
        self.meter = meter
        self.log = log
    }

    /// The effect of another configuration, once that is in use.
    package struct Change {
        fileprivate let settings: AppleSettings?
        fileprivate let client: AppleClient?
    }

    /// Prepares another configuration. To be called at the start and at each reload, before any
    /// part of it is in force; nil if nothing changes.
    package func change(to next: AppleSettings?) throws(ConfigurationFailure) -> Change? {
        // The state of keys, and connections, outlive a reload that does not concern them.
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

    package func use(_ change: Change?) {
        guard let change else { return }
        settings = change.settings
        client = change.client
    }

    /// Cancels all requests that are under way. Their callers are told.
    package func close() {
        client?.close()
        client = nil
        settings = nil
    }

    package func appleAnswered(service: String, environment: AttestEnvironment, label: String) {
        meter.count(
            AppleMeter.Requests(service: service, environment: environment, outcome: label))
    }

    package func appleRefused(keyID: String, teamID: String, failure: AppleFailure) {
        meter.countRefusal(of: AppleMeter.Key(teamID: teamID, keyID: keyID))
        log.event(
            level: "error", "apple_key_refused",
            "key \(keyID) of team \(teamID): \(failure); trying the team's next key")
    }
}
