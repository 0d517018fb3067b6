import Crypto
import EventLoop
import TLS

/// `sallyport-lab trial`: scores a client by its reactions to faults.
enum TrialCommand {
    private static let usage = """
        usage: sallyport-lab trial --gateway HOST:PORT [--platform android] [--port N]
                                   [--base PATH] [--seconds N] [--certificate FILE --key FILE]
                                   [--seed N] [--json]
               sallyport-lab trial --list [--platform android]

        Stands on a port of 127.0.0.1 in front of a gateway, misbehaves on purpose, and prints what
        the client did wrong and what to change: a key too many, a request repeated blindly, a
        challenge lost, a wait cut short. Prints {"port":N} once it is open. Only what arrives
        counts.

        Let the client enrol and then send POST requests one after the other to a route of the
        gateway that enforces, each with a body that no other has, whatever comes of them. The
        header `X-Trial` of an answer tells the program that runs the client what to do:

          restart     make the client anew with all that it has saved, as at a start of the app
          reinstall   make it anew with its ticket alone
          over        end

        The API gets every attempt, also one whose answer is a refusal of the trial's.

        A client on Android is also told if its chain, its client data or its signature is wrong.
        Its phone is simulated by `device new --platform android`, `mint android-attestation` and
        `mint android-signature`. The gateway needs the root of `root --platform android` in
        trust.android.extra_roots, and the app in `apps`, with `android` and `signing_digests`.

          --platform     apple, which is the default, or android
          --port         0, which is the default, for a free one
          --base         endpoints.base if it is not /
          --seconds      how long the client may take; 300 by default
          --certificate, --key   PEM: speak TLS
          --seed         the order of the acts; the card tells it
          --json         the score card as JSON
          --list         print the acts and what each asks of an app, and end

        Exit codes: 0 without a mistake, 1 with one or if an act was not reached or the gateway
        does not answer, 2 usage.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--gateway", "--port", "--base", "--seconds", "--certificate", "--key",
                "--platform", "--seed",
            ],
            flags: ["--json", "--list"], usage: usage)
        let platform = options.choice("--platform", or: LabPlatform.apple)
        if options.has("--list") {
            var chance = SystemRandomNumberGenerator()
            print(TrialCard.list(TrialAct.all(platform, &chance)))
            LabExit.ok()
        }
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
        let seed = options.count("--seed", or: Int(RandomBytes.word() % seedEnd))
        let trial = Trial(gateway: gateway, platform: platform, seed: UInt64(seed)) {
            MonotonicInstant.now().milliseconds
        }
        let listener = try StandInListener(loop, port: port, tls: try tls(options)) {
            .reply(trial.reply(to: $0))
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

    /// Seeds below are short enough to type.
    private static let seedEnd: UInt64 = 100_000
    private static let farewell = Duration.milliseconds(200)

    private static func tls(_ options: LabOptions) throws -> TLSServerContext? {
        guard let certificate = options.value("--certificate") else { return nil }
        let identity = try TLSIdentity(
            certificatePEM: try LabFile.read(certificate),
            keyPEM: try LabFile.read(options.required("--key")))
        return try StandInListener.tls(identity)
    }
}
