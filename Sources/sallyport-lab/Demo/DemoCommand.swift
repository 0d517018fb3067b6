import AppAttestTesting
import EventLoop

/// `sallyport-lab demo`: plays the device in `make demo`, and prints its table.
enum DemoCommand {
    private static let usage = """
        usage: sallyport-lab demo --gateway HOST:PORT --apple FILE --app APP_ID
                                  --device FILE --device-token TOKEN --nginx-log FILE
                                  --challenge-seconds N

        Enrols a device, sends asserted requests that must pass and others that must not, and prints
        the outcome of each. Exits with 1 unless every row is as it should be.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--apple", "--app", "--device", "--device-token", "--nginx-log",
                "--challenge-seconds",
            ], usage: usage)
        let address = try SocketAddress.ofGateway(options.required("--gateway"))
        let device = try SimulatedDevice(appID: options.required("--app"), system: .iOS27)
        var scenario = DemoScenario(
            client: try DeviceClient(address),
            apple: try LabFile.apple(options.required("--apple")),
            device: device, deviceToken: options.required("--device-token"),
            challengeLife: .seconds(options.count("--challenge-seconds", or: 5)))
        try scenario.playFirstAct()
        let firstCount = scenario.rows.count
        try scenario.playSecondAct()
        try DeviceState(path: options.required("--device"), device: device).save()
        let log = try UpstreamLog(
            waitingFor: scenario.rows.count, in: options.required("--nginx-log"))
        let acts = [
            DemoTable(rows: scenario.rows[..<firstCount], first: 1, log: log),
            DemoTable(rows: scenario.rows[firstCount...], first: firstCount + 1, log: log),
        ]
        print("First act: keys and assertions.\n")
        print(acts[0].text)
        print("\nSecond act: tokens, versions, a fallback, observing.\n")
        print(acts[1].text)
        guard acts.allSatisfy(\.isAsExpected) else {
            throw LabError("a row is not as it should be")
        }
    }
}
