import AndroidAttestationTesting
import AppAttestTesting
import Attestation
import EventLoop
import JSON

/// `sallyport-lab device`: manages one simulated device in a file.
enum DeviceCommand {
    private static let usage = """
        usage: sallyport-lab device enrol --gateway URL (--apple FILE --app APP_ID |
                                          --platform android --google FILE PHONE) [--fresh]
               sallyport-lab device request [REQUEST] METHOD URL
               sallyport-lab device curl [REQUEST] METHOD URL
               sallyport-lab device sign [--challenge TOKEN] [REQUEST] METHOD URL
               sallyport-lab device token [REQUEST]
               sallyport-lab device show
               sallyport-lab device new --app APP_ID [--environment E] [--system S]
               sallyport-lab device new --platform android PHONE
               sallyport-lab device attest --gateway URL (--apple FILE | --google FILE)

        enrol    makes a key and enrols it; later, as after a reinstall, another one with the ticket
                 of the last, and then no other option is needed
        request  signs, sends, and prints the answer; of a refusal also what an app does about it
        curl     prints a curl command with new headers
        sign     prints the headers that prove a request: pipe them into curl -H @-
        token    fetches a session token; -d '{"routes":["NAME"]}' chooses its routes
        show     prints what FILE holds, without the key
        new      makes a key, and prints its key ID
        attest   enrols it

        --state FILE: the device; device.json by default. One command uses it at a time.
        --gateway URL: http://HOST:PORT or https://HOST:PORT; the one that took the key by default
        --ca FILE: the authorities that vouch for the gateway, in PEM; the system's by default
        --base PATH: endpoints.base if it is not /
        --headers SETTING=NAME,...: names of headers that the settings under `headers` change, of
                 assertion, client_data, key_id and device_check
        --fresh: enrols without the ticket, like another device
        --device-token TOKEN: of DeviceCheck, as `sallyport-lab apple token` prints them
        --environment, --system: production and iOS27 by default

        URL of a request: http://HOST:PORT/PATH or https://HOST:PORT/PATH, or a path at the gateway
        REQUEST: -d TEXT or --body TEXT, --body-file FILE, -H 'NAME: VALUE', --fault NAME,
                 --shape header|body, --key-id header|clientData|nowhere
        --fault help lists the faults, of an attestation after enrol and attest
        \(PhoneOptions.usage)
        """

    static func run(_ words: [String]) throws {
        guard let action = words.first else { LabExit.usage(usage) }
        let options = LabOptions(
            Array(words.dropFirst()),
            names: [
                "--app", "--environment", "--system", "--apple", "--google", "--challenge",
                "--device-token",
            ] + DeviceDesk.names + PhoneOptions.names, flags: ["--fresh"] + PhoneOptions.flags,
            operandCounts: 0...2, usage: usage)
        let desk = DeviceDesk(options: options)
        let isEnrolment = ["enrol", "attest"].contains(action)
        if options.value("--fault") == "help" {
            return try DeviceFaults.list(desk, ofEnrolment: isEnrolment)
        }
        switch action {
        case "new": try desk.holding { try print(make(desk).keyID.base64) }
        case "enrol": try desk.holding { try enrol(desk) }
        case "attest": try desk.holding { try attest(desk, try desk.device()) }
        case "sign": try desk.holding { try sign(desk) }
        case "request": try desk.holding { try request(desk) }
        case "curl": try desk.holding { try curl(desk) }
        case "token": try desk.holding { try token(desk) }
        case "show": try show(desk)
        case "--help", "-h": print(usage)
        default: LabExit.usage("unknown action \(action)\n\n\(usage)")
        }
    }

    // MARK: keys

    /// A new device, in its file.
    private static func make(_ desk: DeviceDesk) throws -> any SavedDevice {
        let device = try unsaved(desk, .apple)
        try device.save()
        return device
    }

    /// The device that the options describe, of `platform` unless they say another.
    private static func unsaved(
        _ desk: DeviceDesk, _ platform: LabPlatform
    ) throws -> any SavedDevice {
        let options = desk.options
        guard options.choice("--platform", or: platform) == .apple else {
            return PhoneState(
                path: desk.path, phone: try SimulatedPhone(PhoneOptions.profile(options)))
        }
        let device = try SimulatedDevice(
            appID: options.required("--app"),
            environment: options.choice("--environment", or: AttestEnvironment.production),
            system: options.choice("--system", or: SimulatedSystem.iOS27))
        return DeviceState(path: desk.path, device: device)
    }

    /// Enrols a new key. The file is replaced once the gateway has taken it.
    private static func enrol(_ desk: DeviceDesk) throws {
        guard File.exists(desk.path) else { return try attest(desk, try unsaved(desk, .apple)) }
        let known = try desk.device()
        var device = try known.reinstalled()
        if desk.options.value("--app") != nil {
            device = try unsaved(desk, type(of: known).platform)
            device.memory = known.memory
        }
        if desk.options.has("--fresh") { device.memory.ticket = nil }
        try attest(desk, device)
    }

    private static func attest(_ desk: DeviceDesk, _ unenrolled: any SavedDevice) throws {
        var device = unenrolled
        let option = type(of: device).platform == .apple ? "--apple" : "--google"
        let authority =
            desk.options.value(option) ?? device.memory.authority ?? desk.options.required(option)
        let gateway = try desk.gateway(device.memory)
        let headers = try desk.headers(device.memory)
        let client = try desk.client(at: gateway, device.memory)
        var enrolment = try device.enrolment(desk.options, client, authority: authority)
        if let token = desk.options.value("--device-token") {
            enrolment.fields.append((headers.deviceCheck, token))
        }
        let answer = try client.send(enrolment)
        print(answer.text)
        guard answer.status == 200 else {
            RefusalAdvice.write(answer, ofEnrolment: true)
            throw LabError("refused with \(answer.status); \(desk.path) is as it was")
        }
        device.memory.nextChallenge = answer.nextChallenge
        device.memory.gateway = "\(gateway)"
        device.memory.base = client.base
        device.memory.authoritiesPath = desk.authoritiesPath(at: gateway, device.memory)
        device.memory.headers = desk.options.value("--headers") ?? device.memory.headers
        device.memory.authority = authority
        device.memory.ticket = answer.member("installation")
        try device.save()
    }

    private static func show(_ desk: DeviceDesk) throws {
        let device = try desk.device()
        print("platform: \(type(of: device).platform)")
        for fact in device.facts { print("\(fact.name): \(fact.value)") }
        print("key_id: \(device.keyID.base64)")
        let gateway = device.memory.gateway.map { $0 + (device.memory.base ?? "/") }
        print("gateway: \(gateway ?? "none")")
        print("ticket: \(device.memory.ticket == nil ? "none" : "kept for the next enrolment")")
    }

    // MARK: requests

    private static func operands(_ desk: DeviceDesk) throws -> (method: String, url: LabURL) {
        guard desk.options.operands.count == 2 else { LabExit.usage(usage) }
        return (desk.options.operands[0], try LabURL(desk.options.operands[1]))
    }

    private static func sign(_ desk: DeviceDesk) throws {
        let device = try desk.device()
        let (method, url) = try operands(desk)
        let unsigned = try desk.unsigned(method, url)
        let challenge =
            try desk.options.value("--challenge")
            ?? desk.client(
                at: try url.origin ?? desk.gateway(device.memory), device.memory
            ).assertionChallenge()
        let signed = try desk.sign(unsigned, device, challenge: challenge)
        for (name, value) in signed.fields { print("\(name): \(value)") }
    }

    private static func request(_ desk: DeviceDesk) throws {
        let device = try desk.device()
        let (method, url) = try operands(desk)
        let answer = try send(try desk.unsigned(method, url), desk, device, at: url.origin)
        print("HTTP/1.1 \(answer.status)")
        for field in answer.fields { print("\(field.name): \(field.value)") }
        print("\n\(answer.text)")
        RefusalAdvice.write(answer, ofEnrolment: false)
    }

    /// Signs a request, sends it, and keeps the challenge of the answer.
    private static func send(
        _ unsigned: HTTPRequest, _ desk: DeviceDesk, _ unchanged: any SavedDevice,
        at origin: GatewayOrigin?
    ) throws -> HTTPAnswer {
        var device = unchanged
        let client = try desk.client(
            at: try origin ?? desk.gateway(device.memory), device.memory)
        let answer = try client.send(
            desk.sign(unsigned, device, challenge: try client.assertionChallenge()))
        device.memory.nextChallenge = answer.nextChallenge
        try device.save()
        return answer
    }

    private static func curl(_ desk: DeviceDesk) throws {
        let device = try desk.device()
        let (method, url) = try operands(desk)
        let unsigned = try desk.unsigned(method, url)
        let origin = try url.origin ?? desk.gateway(device.memory)
        let client = try desk.client(at: origin, device.memory)
        let signed = try desk.sign(
            unsigned, device, challenge: try client.assertionChallenge())
        print(
            CurlCommand.text(
                signed, to: origin,
                authoritiesPath: desk.authoritiesPath(at: origin, device.memory),
                bodyPath: desk.options.value("--body-file")))
    }

    private static func token(_ desk: DeviceDesk) throws {
        guard desk.options.operands.isEmpty else { LabExit.usage(usage) }
        let device = try desk.device()
        let url = try LabURL(try desk.base(device.memory) + "assert/token")
        let answer = try send(try desk.unsigned("POST", url), desk, device, at: nil)
        guard answer.status == 200, let token = answer.member("token") else {
            RefusalAdvice.write(answer, ofEnrolment: false)
            throw LabError("no token: \(answer.status) \(answer.text)")
        }
        print(token)
    }
}
