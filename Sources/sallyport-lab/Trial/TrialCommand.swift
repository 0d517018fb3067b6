import EventLoop
import TLS

/// `sallyport-lab trial`: scores a client by its reactions to faults.
enum TrialCommand {
    private static let usage = """
        usage: sallyport-lab trial --gateway HOST:PORT [--platform android] [--port N]
                                   [--base PATH] [--seconds N] [--certificate FILE --key FILE]
                                   [--json]

        Stands on a port of 127.0.0.1 in front of a gateway, misbehaves on purpose, and prints what
        the client did wrong: a key too many, a request repeated blindly, a challenge lost, a wait
        cut short. Prints {"port":N} once it is open.

        Let the client enrol and then send POST requests one after the other to a route of the
        gateway, each with a body that no other has, whatever comes of them, until an answer has
        the header `X-Trial: over`.

        A client on Android is also told if its chain, its client data or its signature is wrong.
        Its phone is simulated by `device new --platform android`, `mint android-attestation` and
        `mint android-signature`. The gateway needs the root of `root --platform android` in
        trust.android.extra_roots, and the app in `apps`, with `android` and `signing_digests`.

          --platform     apple, which is the default, or android
          --port         0, which is the default, for a free one
          --base         endpoints.base if it is not /
          --seconds      how long the client may take; 300 by default
          --certificate, --key   PEM: speak TLS
          --json         the score card as JSON

        Exit codes: 0 without a mistake, 1 with one or if an act was not reached or the gateway
        does not answer, 2 usage.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--port", "--base", "--seconds", "--certificate", "--key",
                "--platform",
            ],
            flags: ["--json"], usage: usage)
        guard let port = UInt16(exactly: options.count("--port", or: 0)) else {
            LabExit.usage("--port: no port\n\n\(usage)")
        }
        let base = options.value("--base") ?? "/"
        guard base.hasPrefix("/"), base.hasSuffix("/") else {
            LabExit.usage("--base: \(base) does not begin and end with /\n\n\(usage)")
        }
        let gateway = TrialGateway(
            try SocketAddress.ofGateway(options.required("--gateway")), base: base)
        // Otherwise the client would be blamed for a missing gateway.
        try gateway.reach()
        let loop = try EventLoop()
        let platform = options.choice("--platform", or: LabPlatform.apple)
        let trial = Trial(gateway: gateway, platform: platform) {
            MonotonicInstant.now().milliseconds
        }
        let listener = try StandInListener(loop, port: port, tls: try tls(options)) {
            trial.reply(to: $0)
        }
        let timer = Timer(loop: loop) { loop.stop() }
        timer.schedule(after: .seconds(options.count("--seconds", or: 300)))
        // The last answer is sent first.
        trial.onEnd = { timer.schedule(after: farewell) }
        _ = File.append(File.standardOutput, Array("{\"port\":\(listener.port)}\n".utf8).span)
        withExtendedLifetime(listener) { loop.run() }
        let card = trial.result
        print(options.has("--json") ? card.json : card.text)
        if !trial.isReached {
            LabExit.failed("no act was reached: no client came to 127.0.0.1:\(listener.port)")
        }
        if !card.isFaultless { LabExit.failed("the client makes mistakes") }
    }

    private static let farewell = Duration.milliseconds(200)

    private static func tls(_ options: LabOptions) throws -> TLSServerContext? {
        guard let certificate = options.value("--certificate") else { return nil }
        let identity = try TLSIdentity(
            certificatePEM: try LabFile.read(certificate),
            keyPEM: try LabFile.read(options.required("--key")))
        return try TLSServerContext(
            TLSServerConfiguration(certificates: [.init(identity: identity)]),
            ticketKeys: TLSTicketKeys(lifetime: .seconds(3600)))
    }
}
