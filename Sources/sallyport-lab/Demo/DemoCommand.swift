import AppAttestTesting
import Bytes
import EventLoop

/// `sallyport-lab demo`: plays the device in `make demo`, and prints its table.
enum DemoCommand {
    private static let usage = """
        usage: sallyport-lab demo --gateway HOST:PORT --apple FILE --app APP_ID
                                  --device FILE --device-token TOKEN --nginx-log FILE
                                  --model-log FILE
                                  --challenge-seconds N --google FILE --package NAME
                                  --signing-digest HEX --withdrawn FILE --gateway-process ID

        Enrols a device and a phone, sends asserted requests that must pass and others that must
        not, and prints the outcome of each. Exits with 1 unless every row is as it should be.

          --withdrawn FILE       the gateway's list of withdrawn Android certificates, which is
                                 written anew
          --gateway-process ID   gets SIGHUP after that
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--apple", "--app", "--device", "--device-token", "--nginx-log",
                "--model-log",
                "--challenge-seconds", "--google", "--package", "--signing-digest", "--withdrawn",
                "--gateway-process",
            ], usage: usage)
        let address = try SocketAddress.ofGateway(options.required("--gateway"))
        let device = try SimulatedDevice(appID: options.required("--app"), system: .iOS27)
        var scenario = DemoScenario(
            client: try DeviceClient(address),
            apple: try LabFile.apple(options.required("--apple")),
            device: device, deviceToken: options.required("--device-token"),
            challengeLife: .seconds(options.count("--challenge-seconds", or: 5)))
        var ends: [Int] = []
        try scenario.playFirstAct()
        ends.append(scenario.rows.count)
        try scenario.playSecondAct()
        ends.append(scenario.rows.count)
        try scenario.playThirdAct(try phones(options))
        ends.append(scenario.rows.count)
        let logs = DemoLogs(
            nginx: options.required("--nginx-log"), model: options.required("--model-log"))
        try scenario.playFourthAct(logs)
        ends.append(scenario.rows.count)
        try DeviceState(path: options.required("--device"), device: device).save()
        // The last rows of the last two acts reach an upstream each.
        let log = try logs.read(waitingFor: Array(ends.suffix(2)))
        let tables = zip(acts, zip([0] + ends, ends)).map { act, rows in
            DemoTable(
                act.kind, rows: scenario.rows[rows.0..<rows.1], first: rows.0 + 1, log: log)
        }
        for (act, table) in zip(acts, tables) {
            print("\(act.heading)\n\n\(table.text)\n")
        }
        guard tables.allSatisfy(\.isAsExpected) else {
            throw LabError("a row is not as it should be")
        }
    }

    private static let acts: [(heading: String, kind: DemoTable.Kind)] = [
        ("First act: keys and assertions.", .requests),
        ("Second act: tokens, versions, a fallback, observing.", .requests),
        ("Third act: Android phones, on the same route.", .requests),
        ("Fourth act: an AI service, whose key and tokens the gateway keeps.", .chats),
    ]

    private static func phones(_ options: LabOptions) throws -> DemoPhones {
        guard let digest = Hex.decode(options.required("--signing-digest")).flatMap({ Bytes32($0) })
        else { LabExit.usage("--signing-digest: not a SHA-256 in hexadecimal") }
        guard let gateway = Int32(options.required("--gateway-process")), gateway > 1 else {
            LabExit.usage("--gateway-process: not the ID of a process")
        }
        return DemoPhones(
            google: try LabFile.google(options.required("--google")),
            package: options.required("--package"), signingDigest: digest,
            withdrawnPath: options.required("--withdrawn"), gateway: gateway)
    }
}
