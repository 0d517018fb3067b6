import EventLoop

/// `sallyport-lab sign`: signs requests of tools on this machine that can run a script.
enum SignCommand {
    private static let usage = """
        usage: sallyport-lab sign [--state FILE] [--listen 127.0.0.1:PORT] [--gateway URL]
                                  [--ca FILE] [--base PATH] [--headers SETTING=NAME,...]
                                  [--shape header|body] [--key-id PLACE] [--fault NAME]

        Signs with the device of `sallyport-lab device`, for Bruno, Postman and the like:

          POST /sign  {"method": "POST", "url": "http://HOST/PATH?QUERY", "body": "TEXT"}
          200         {"headers": {NAME: VALUE}}

        "url" may be a path. "body_base64" replaces "body" for bytes; without either the body is
        empty. An error is {"error": TEXT}. Prints {"port":N} once it is open, and runs until you
        stop it. Web pages get nothing: a request with `Origin`, or with a `Host` that is not this
        machine's own, is refused.

          --state   device.json by default
          --listen  127.0.0.1:\(port) by default; port 0 for a free one
          The others are those of `sallyport-lab device`.
        """
    /// An unprivileged port that no well-known service has.
    private static let port: UInt16 = 7357

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--state", "--listen", "--gateway", "--ca", "--base", "--headers", "--shape",
                "--key-id", "--fault", "--platform",
            ], usage: usage)
        let desk = DeviceDesk(options: options)
        if options.value("--fault") == "help" {
            return try DeviceFaults.list(desk, ofEnrolment: false)
        }
        // A missing device, gateway, authority or fault is told now, not to the first tool.
        let device = try desk.device()
        let gateway = try desk.gateway(device.memory)
        _ = try gateway.check(authoritiesPath: desk.authoritiesPath(at: gateway, device.memory))
        _ = try device.signing(
            HTTPRequest(method: "GET", target: "/"), challenge: "",
            desk.headers(device.memory).names, options)
        let service = SigningService(desk: desk)
        let loop = try EventLoop()
        let listener = try StandInListener(loop, port: try port(options), tls: nil) {
            .reply(service.reply(to: $0))
        }
        _ = File.append(File.standardOutput, Array("{\"port\":\(listener.port)}\n".utf8).span)
        withExtendedLifetime(listener) { loop.run() }
    }

    /// The port of `--listen`, whose address must be this machine's loopback.
    private static func port(_ options: LabOptions) throws -> UInt16 {
        guard let text = options.value("--listen") else { return port }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, ["127.0.0.1", "localhost"].contains(parts[0]),
            let port = UInt16(parts[1])
        else { LabExit.usage("--listen: \(text) is not 127.0.0.1:PORT\n\n\(usage)") }
        return port
    }
}
