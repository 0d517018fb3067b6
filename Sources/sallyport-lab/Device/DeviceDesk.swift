import AppAttestTesting
import EventLoop
import JSON

/// The device in a file that a command uses, and the options that say how.
struct DeviceDesk {
    static let names = [
        "--state", "--platform", "--gateway", "--base", "--ca", "--headers", "--shape",
        "--key-id", "--fault",
        "-d", "--body", "--body-file", "-H",
    ]

    let options: LabOptions

    var path: String { options.value("--state") ?? "device.json" }

    /// The device of the file, which says its platform.
    func device() throws -> any SavedDevice {
        guard File.exists(path) else {
            throw LabError("\(path) does not exist: `sallyport-lab device enrol` makes it")
        }
        let platform = try self.platform()
        guard options.choice("--platform", or: platform) == platform else {
            throw LabError("\(path) holds a device of --platform \(platform)")
        }
        return platform == .apple ? try DeviceState(reading: path) : try PhoneState(reading: path)
    }

    /// The platform of the device in the file.
    func platform() throws -> LabPlatform {
        try LabFile.readJSON(path)["phone"] == nil ? .apple : .android
    }

    /// Keeps other processes away from the file during `work`, because two of them would sign with
    /// the same counter.
    func holding<Outcome>(_ work: () throws -> Outcome) throws -> Outcome {
        do {
            let lock = try FileLock(path: path + ".lock")
            return try withExtendedLifetime(lock) { try work() }
        } catch let error as IOError {
            guard case .locked = error.reason else { throw error }
            throw LabError("\(path) is in use by another command: try again when that has ended")
        }
    }

    // MARK: gateway

    /// The gateway of `--gateway`, or the one that took the key.
    func gateway(_ memory: DeviceMemory) throws -> GatewayOrigin {
        if let text = options.value("--gateway") { return try LabURL.gateway(text) }
        guard let known = memory.gateway else {
            throw LabError("--gateway is missing: \(path) remembers none")
        }
        return try LabURL.gateway(known)
    }

    func base(_ memory: DeviceMemory) throws -> String {
        let base = options.value("--base") ?? memory.base ?? "/"
        guard base.hasPrefix("/"), base.hasSuffix("/") else {
            throw LabError("--base: \(base) does not begin and end with /")
        }
        return base
    }

    /// The file of the authorities that vouch for a gateway; nil for those of the system, or
    /// without TLS.
    func authoritiesPath(at origin: GatewayOrigin, _ memory: DeviceMemory) -> String? {
        options.value("--ca") ?? (origin.isSecure ? memory.authoritiesPath : nil)
    }

    func client(at origin: GatewayOrigin, _ memory: DeviceMemory) throws -> DeviceClient {
        let check = try origin.check(authoritiesPath: authoritiesPath(at: origin, memory))
        return try DeviceClient(
            SocketAddress.ofGateway(origin.authority), host: origin.authority, check: check,
            base: try base(memory))
    }

    /// The names of the headers: those of `--headers`, or those with which the key was enrolled.
    func headers(_ memory: DeviceMemory) throws -> DeviceHeaders {
        try DeviceHeaders(options.value("--headers") ?? memory.headers)
    }

    // MARK: requests

    /// The request that `METHOD URL`, `-d` and `-H` describe.
    func unsigned(_ method: String, _ url: LabURL) throws -> HTTPRequest {
        guard !method.isEmpty, method.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LabError("\(method) is not a method")
        }
        var body = Array((options.value("-d") ?? options.value("--body") ?? "").utf8)
        if let path = options.value("--body-file") { body = try LabFile.read(path) }
        return HTTPRequest(
            method: method, target: url.target, fields: try options.all("-H").map(Self.field),
            body: body)
    }

    private static func field(_ text: String) throws -> (name: String, value: String) {
        let name = text.prefix { $0 != ":" }
        let value = text.dropFirst(name.count + 1).drop { $0 == " " }
        let isName = !name.isEmpty && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isName, name.count < text.count, value.utf8.allSatisfy({ $0 >= 0x20 }) else {
            throw LabError("-H: \(text) is not NAME: VALUE")
        }
        return (String(name), String(value))
    }

    /// Adds a proof with a challenge of the gateway's. The file has the new counter before this
    /// returns, so that no counter is used twice.
    func sign(
        _ request: HTTPRequest, _ device: any SavedDevice, challenge: String
    ) throws -> HTTPRequest {
        let names = try headers(device.memory).names
        let signed = try device.signing(request, challenge: challenge, names, options)
        try device.save()
        return signed
    }
}
