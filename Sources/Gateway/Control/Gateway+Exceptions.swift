import EventLoop
import Settings

/// Reports settings that are not for production, or not for long, at each start and reload.
extension Gateway {
    func announceExceptions() {
        let settings = site.settings
        if settings.trust.hasExtraRoots {
            hub.logs.event(
                level: "warning", "extra_roots",
                "trust.extra_roots is set: keys that these roots vouch for are accepted as if "
                    + "Apple or Google had vouched for them; for tests only")
        }
        let developed = settings.developerRoutes
        if !developed.isEmpty {
            hub.logs.event(
                level: "warning", "developer_tokens",
                "routes \(developed.joined(separator: ", ")) accept developer tokens, which "
                    + "prove nothing about an app or a device")
        }
        let places = settings.detailedPlaces
        if !places.isEmpty {
            hub.logs.event(
                level: "warning", "problem_detail",
                "\(places.joined(separator: ", ")): refusals tell clients the cause: for "
                    + "staging, not for production")
        }
        if let capture = settings.capture {
            hub.captureWriter.withLock { $0 }?.begin(capture)
        }
    }

    /// Starts the capture thread if `settings` keep refusals. It stays until the gateway stops.
    func prepareCapture(_ settings: Settings) throws {
        guard settings.capture != nil, hub.captureWriter.withLock({ $0 == nil }) else { return }
        let writer = try CaptureWriter(log: hub.logs)
        hub.captureWriter.withLock { $0 = writer }
    }

    func closeCapture() { hub.captureWriter.withLock { $0.take() }?.close() }
}
