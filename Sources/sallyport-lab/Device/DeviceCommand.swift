import AppAttestTesting
import Attestation
import Crypto
import EventLoop

/// `sallyport-lab device`: manages one simulated device in a file.
enum DeviceCommand {
    private static let usage = """
        usage: sallyport-lab device new --state FILE --app APP_ID [--environment E] [--system S]
               sallyport-lab device attest --state FILE --apple FILE --gateway HOST:PORT
                                           [--device-token TOKEN]
               sallyport-lab device sign --state FILE (--gateway HOST:PORT | --challenge TOKEN)
                                         [REQUEST] METHOD PATH
               sallyport-lab device request --state FILE --gateway HOST:PORT [REQUEST] METHOD PATH

        new      makes a key and keeps it in FILE
        attest   enrols the key at a gateway that trusts the root of --apple
        sign     prints the headers that prove a request: pipe them into curl -H @-
        request  signs, sends, and prints the answer

        REQUEST: --body TEXT, --body-file FILE, --shape header|body, --fault NAME (see mint --list),
                 --key-id header|clientData|nowhere
        --base PATH: endpoints.base if it is not /
        --device-token TOKEN: of DeviceCheck, as `sallyport-lab apple token` prints them
        """

    static func run(_ words: [String]) throws {
        guard let action = words.first else { LabExit.usage(usage) }
        let options = LabOptions(
            Array(words.dropFirst()),
            names: [
                "--state", "--app", "--environment", "--system", "--apple", "--gateway",
                "--challenge", "--body", "--body-file", "--shape", "--fault", "--base", "--key-id",
                "--device-token",
            ], operandCounts: 0...2, usage: usage)
        switch action {
        case "new": try make(options)
        case "attest": try attest(options)
        case "sign": try sign(options)
        case "request": try request(options)
        case "--help", "-h": print(usage)
        default: LabExit.usage("unknown action \(action)\n\n\(usage)")
        }
    }

    private static func make(_ options: LabOptions) throws {
        let device = try SimulatedDevice(
            appID: options.required("--app"),
            environment: options.choice("--environment", or: AttestEnvironment.production),
            system: options.choice("--system", or: SimulatedSystem.iOS27))
        try DeviceState(path: options.required("--state"), device: device).save()
        print(device.keyID.base64)
    }

    private static func client(_ options: LabOptions) throws -> DeviceClient {
        try DeviceClient(
            SocketAddress.ofGateway(options.required("--gateway")),
            base: options.value("--base") ?? "/")
    }

    private static func attest(_ options: LabOptions) throws {
        var state = try DeviceState(reading: options.required("--state"))
        let apple = try LabFile.apple(options.required("--apple"))
        let client = try client(options)
        let challenge = try client.attestationChallenge(for: state.device)
        var enrolment = try DeviceClient.enrolment(
            of: state.device, by: apple, challenge: challenge, base: client.base)
        if let token = options.value("--device-token") {
            enrolment.fields.append(("X-Device-Check-Token", token))
        }
        let answer = try client.send(enrolment)
        state.nextChallenge = answer.nextChallenge
        try state.save()
        print(answer.text)
        guard answer.status == 200 else { throw LabError("refused with \(answer.status)") }
    }

    private static func unsigned(_ options: LabOptions) throws -> HTTPRequest {
        guard options.operands.count == 2 else { LabExit.usage(usage) }
        var body = Array((options.value("--body") ?? "").utf8)
        if let path = options.value("--body-file") { body = try LabFile.read(path) }
        return HTTPRequest(method: options.operands[0], target: options.operands[1], body: body)
    }

    private static func signed(
        _ options: LabOptions, _ state: DeviceState, challenge: String
    ) throws -> HTTPRequest {
        try state.device.signing(
            try unsigned(options), challenge: challenge,
            shape: options.choice("--shape", or: RequestShape.header),
            keyIDPlace: options.choice("--key-id", or: KeyIDPlace.header),
            fault: options.optionalChoice("--fault"))
    }

    private static func sign(_ options: LabOptions) throws {
        let state = try DeviceState(reading: options.required("--state"))
        let challenge =
            try options.value("--challenge") ?? client(options).assertionChallenge()
        let request = try signed(options, state, challenge: challenge)
        try state.save()
        for (name, value) in request.fields { print("\(name): \(value)") }
    }

    private static func request(_ options: LabOptions) throws {
        var state = try DeviceState(reading: options.required("--state"))
        let client = try client(options)
        let request = try signed(
            options, state, challenge: try client.assertionChallenge())
        let answer = try client.send(request)
        state.nextChallenge = answer.nextChallenge
        try state.save()
        print("HTTP/1.1 \(answer.status)")
        for field in answer.fields { print("\(field.name): \(field.value)") }
        print("\n\(answer.text)")
    }
}
