import AppAttest
import AppleServices
import Attestation
import EventLoop
import RedisKeyStore
import Settings

/// Checks the gateway's access to Apple's services.
extension DoctorCommand {
    /// Checks the settings about receipts. The keys themselves are read with the configuration.
    static func receipts(_ settings: Settings, _ report: DoctorReport) {
        guard settings.receipts.renews else {
            return report.tell(.ok, "receipts", "kept, and not renewed (receipts.renew: off)")
        }
        guard let apple = settings.apple else {
            return report.tell(
                .ok, "receipts", "kept, and not renewed: apple.keys names no key to sign in with")
        }
        for app in settings.apps {
            let hasKey = apple.teamIDs.contains(app.teamID)
            report.tell(
                hasKey ? .ok : .warning, "receipts of \(app.id)",
                hasKey
                    ? "renewed, at most \(settings.receipts.rate) of all apps"
                    : "not renewed: apple.keys has no key of team \(app.teamID)")
        }
    }

    /// Shows each key to each service that it will be used with.
    static func signIns(_ settings: Settings, _ report: DoctorReport) {
        guard let apple = settings.apple else { return }
        for file in apple.keys {
            for place in AppleSignIn.places(of: file.key, settings) {
                let (verdict, text) = AppleSignIn(apple, file.key, place).outcome()
                report.tell(verdict, "apple key \(file.key.keyID), \(place)", text)
            }
        }
    }
}

/// Shows one of the operator's keys to one of Apple's services: with an invalid receipt or device
/// token, so that the request changes nothing.
struct AppleSignIn {
    struct Place: CustomStringConvertible {
        enum Service: String {
            case receipts
            case deviceCheck = "DeviceCheck"
        }

        let service: Service
        let environment: AttestEnvironment

        var description: String { "\(service.rawValue) (\(environment.rawValue))" }
    }

    private let apple: AppleSettings
    private let key: AppleKey
    private let place: Place

    init(_ apple: AppleSettings, _ key: AppleKey, _ place: Place) {
        self.apple = apple
        self.key = key
        self.place = place
    }

    /// The servers at which the gateway will sign in with `key`.
    static func places(of key: AppleKey, _ settings: Settings) -> [Place] {
        var places: [Place] = []
        if settings.receipts.renews {
            let apps = settings.apps.filter { $0.teamID == key.teamID }
            for environment in AttestEnvironment.allCases
            where apps.contains(where: { $0.environments.contains(environment) }) {
                places.append(Place(service: .receipts, environment: environment))
            }
        }
        if let devices = settings.deviceCheck, devices.teamID == key.teamID {
            places += devices.environments.map { Place(service: .deviceCheck, environment: $0) }
        }
        return places
    }

    func outcome() -> (RedisCheckupStep.Verdict, String) {
        do {
            guard let failure = try ask() else { return (.ok, "Apple accepts it") }
            switch failure {
            case .throttled, .serverError, .malformed: return (.warning, "\(failure)")
            default: return (.failure, "\(failure)")
            }
        } catch {
            return (.failure, "\(error)")
        }
    }

    /// Asks Apple. Nil if Apple judged the question, and so accepted the key.
    private func ask() throws -> AppleFailure? {
        var configuration = apple.configuration
        configuration.keys = [key]
        let loop = try EventLoop()
        let client = try AppleClient(loop: loop, configuration)
        var failure: AppleFailure?
        let end = { (heard: AppleFailure?) in
            failure = heard
            loop.stop()
        }
        switch place.service {
        case .receipts:
            client.renew(receipt: [0], teamID: key.teamID, environment: place.environment) {
                end($0.failure)
            }
        case .deviceCheck:
            client.ask(
                .validate, deviceToken: "AA==", teamID: key.teamID,
                environment: place.environment
            ) { end($0.failure) }
        }
        loop.run()
        client.close()
        return failure
    }
}
