import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import Crypto
import EventLoop
import JSON

/// `sallyport-lab device`: manages one simulated device in a file.
enum DeviceCommand {
    private static let usage = """
        usage: sallyport-lab device new --state FILE --app APP_ID [--environment E] [--system S]
               sallyport-lab device new --platform android --state FILE PHONE
               sallyport-lab device attest --state FILE (--apple FILE | --google FILE)
                                           --gateway HOST:PORT [--device-token TOKEN]
               sallyport-lab device sign --state FILE (--gateway HOST:PORT | --challenge TOKEN)
                                         [REQUEST] METHOD PATH
               sallyport-lab device request --state FILE --gateway HOST:PORT [REQUEST] METHOD PATH

        new      makes a key and keeps it in FILE
        attest   enrols the key at a gateway that trusts the root of --apple or --google
        sign     prints the headers that prove a request: pipe them into curl -H @-
        request  signs, sends, and prints the answer

        REQUEST: --body TEXT, --body-file FILE, --shape header|body, --fault NAME (see mint --list),
                 --key-id header|clientData|nowhere
        \(PhoneOptions.usage)
        --base PATH: endpoints.base if it is not /
        --device-token TOKEN: of DeviceCheck, as `sallyport-lab apple token` prints them
        --fault NAME, of attest: a fault of the attestation
        """

    static func run(_ words: [String]) throws {
        guard let action = words.first else { LabExit.usage(usage) }
        let options = LabOptions(
            Array(words.dropFirst()),
            names: [
                "--state", "--app", "--environment", "--system", "--apple", "--gateway",
                "--challenge", "--body", "--body-file", "--shape", "--fault", "--base", "--key-id",
                "--device-token", "--platform", "--google",
            ] + PhoneOptions.names, flags: PhoneOptions.flags, operandCounts: 0...2, usage: usage)
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
        guard options.choice("--platform", or: LabPlatform.apple) == .apple else {
            let phone = try SimulatedPhone(PhoneOptions.profile(options))
            try PhoneState(path: options.required("--state"), phone: phone).save()
            return print(phone.keyID.base64)
        }
        let device = try SimulatedDevice(
            appID: options.required("--app"),
            environment: options.choice("--environment", or: AttestEnvironment.production),
            system: options.choice("--system", or: SimulatedSystem.iOS27))
        try DeviceState(path: options.required("--state"), device: device).save()
        print(device.keyID.base64)
    }

    /// The device of `--state`. Its file says which platform it has.
    private static func device(_ options: LabOptions) throws -> any SavedDevice {
        let path = options.required("--state")
        let platform: LabPlatform =
            try LabFile.readJSON(path)["phone"] == nil ? .apple : .android
        guard options.choice("--platform", or: platform) == platform else {
            throw LabError("\(path) holds a device of --platform \(platform)")
        }
        return platform == .apple
            ? try DeviceState(reading: path) : try PhoneState(reading: path)
    }

    private static func client(_ options: LabOptions) throws -> DeviceClient {
        try DeviceClient(
            SocketAddress.ofGateway(options.required("--gateway")),
            base: options.value("--base") ?? "/")
    }

    private static func attest(_ options: LabOptions) throws {
        var state = try device(options)
        let client = try client(options)
        var enrolment = try state.enrolment(options, client)
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

    private static func sign(_ options: LabOptions) throws {
        let state = try device(options)
        let challenge =
            try options.value("--challenge") ?? client(options).assertionChallenge()
        let request = try state.signing(unsigned(options), challenge: challenge, options)
        try state.save()
        for (name, value) in request.fields { print("\(name): \(value)") }
    }

    private static func request(_ options: LabOptions) throws {
        var state = try device(options)
        let client = try client(options)
        let request = try state.signing(
            unsigned(options), challenge: try client.assertionChallenge(), options)
        let answer = try client.send(request)
        state.nextChallenge = answer.nextChallenge
        try state.save()
        print("HTTP/1.1 \(answer.status)")
        for field in answer.fields { print("\(field.name): \(field.value)") }
        print("\n\(answer.text)")
    }
}
