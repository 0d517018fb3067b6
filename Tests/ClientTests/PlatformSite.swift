import AppAttestTesting
import Bytes
import Foundation
import GatewayTesting
import JSON

/// A gateway with an app of a platform, and what a program needs to make its devices.
struct PlatformSite {
    enum Platform: String, CaseIterable, Sendable { case apple, android }

    let site: ClientSite
    /// The lab's command, a prefix for names of files, the authority's file, and the app.
    let device: [String]
    private let directory: ScratchDirectory
    private let android: AndroidSite?

    init(
        _ platform: Platform, _ configure: (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        directory = try ScratchDirectory()
        switch platform {
        case .apple:
            android = nil
            site = try ClientSite(configure)
            var state = JSONWriter()
            state.element(try TestApple.shared.state())
            let text = state.finish()
            let apple = try directory.write(text.readable.array, to: "apple.json")
            device = [
                BuiltProgram.lab, directory.path(of: "device"), apple, GatewayConfiguration.appID,
            ]
        case .android:
            let android = try AndroidSite(configure)
            (self.android, site, device) = (android, android.site, android.phone)
        }
    }
}
