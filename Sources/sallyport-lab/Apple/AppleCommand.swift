import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import TLS

/// `sallyport-lab apple`: runs a stand-in for Apple's services over TLS, on this machine.
enum AppleCommand {
    private static let usage = """
        usage: sallyport-lab apple --directory DIR [--keys TEAM:KEY,...] [--ports P,D,C]
                                   [--authorization bare|bearer|any] [--not-before SECONDS]
                                   [--token-life SECONDS]
               sallyport-lab apple token --directory DIR --team TEAM --name DEVICE
                                   [--environment production|development] [--count N]

        Serves attestationData and DeviceCheck on ports of 127.0.0.1, one for each environment, and
        takes orders (what to do wrong) on a third, in plain HTTP; prints them as one line of JSON
        once they are open, and runs until it is ended. Without --ports they are free ones.

          --directory DIR   apple.json (the roots and keys; made if it is missing), tls-ca.pem,
                            root.pem, receipt-root.pem, AuthKey_KEY.p8 for each key, apple.yaml (a
                            section for the gateway's configuration)
          --keys            ids of teams and keys that sign in; ABCDE12345:ABC123DEFG by default
          --authorization   how attestationData wants its token; bare by default
          --not-before      from a receipt's creation to its "not before"; 86400 by default
          --token-life      from a device token's first use to its last; 60 by default

        token: prints device tokens of an invented device, for X-Device-Check-Token.

        Orders, JSON in and out:
          POST /faults         {"service", "environment", "count", "status", "body", "retry_after",
                                "conduct": whole|cut|close|silent|garbage|endless, "delay_ms"}
                               each of them optional; count 1 by default, 0 for all to come
          DELETE /faults       ends all faults
          GET /requests        the requests that came; DELETE /requests forgets them
          POST /device-tokens  {"device", "team", "environment", "count"} -> {"tokens"}
          POST /bits           {"device", "team"} -> {"bit0", "bit1"}, null if never set
          POST /keys           {"key_id", "revoked"}: Apple no longer accepts it, or does again
          POST /attested-keys  {"key_id", "device" | "risk" | "forgotten"}
          POST /clock          {"offset"}: seconds from this machine's clock
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--directory", "--keys", "--ports", "--authorization", "--not-before",
                "--token-life", "--team", "--name", "--environment", "--count",
            ], operandCounts: 0...1, usage: usage)
        let directory = try AppleDirectory(options.required("--directory"))
        switch options.operands.first {
        case nil: try serve(options, directory)
        case "token": printTokens(options, directory)
        default: LabExit.usage(usage)
        }
    }

    private static func printTokens(_ options: LabOptions, _ directory: AppleDirectory) {
        for _ in 0..<options.count("--count", or: 1) {
            let token = SimulatedDeviceToken(
                device: options.required("--name"), teamID: options.required("--team"),
                environment: options.choice("--environment", or: AttestEnvironment.production))
            print(token.text(secret: directory.secret))
        }
    }

    private static func serve(_ options: LabOptions, _ directory: AppleDirectory) throws {
        let keys = try (options.value("--keys") ?? "ABCDE12345:ABC123DEFG").split(separator: ",")
            .map { text in
                let parts = text.split(separator: ":").map(String.init)
                guard parts.count == 2, parts.allSatisfy({ AppIdentity.isTeamID($0) }) else {
                    LabExit.usage("--keys: \(text) is not TEAM:KEY, of 10 characters each")
                }
                return try directory.signInKey(teamID: parts[0], keyID: parts[1])
            }
        let standIn = AppleStandIn(
            apple: directory.apple, keys: keys, secret: directory.secret)
        standIn.authorization = options.choice("--authorization", or: .bare)
        standIn.notBeforeSeconds = Int64(options.count("--not-before", or: 86400))
        standIn.deviceTokenLifeSeconds = Int64(options.count("--token-life", or: 60))
        let ports = try self.ports(options)
        let loop = try EventLoop()
        let context = try StandInListener.tls(try directory.tlsIdentity())
        let clock = StandInClock()
        let production = try StandInListener(
            loop, port: ports[0], tls: context,
            answer: { .reply(standIn.reply(to: $0, .production, at: clock.seconds)) })
        let development = try StandInListener(
            loop, port: ports[1], tls: context,
            answer: { .reply(standIn.reply(to: $0, .development, at: clock.seconds)) })
        let orders = StandInControl(standIn: standIn, clock: clock)
        let control = try StandInListener(
            loop, port: ports[2], tls: nil,
            answer: { .reply(orders.reply($0.method, $0.target, $0.body)) })
        try directory.writeSettings(
            keys: keys, production: production.port, development: development.port,
            authorization: standIn.authorization)
        let line =
            "{\"production\":\(production.port),\"development\":\(development.port),"
            + "\"control\":\(control.port)}\n"
        _ = File.append(File.standardOutput, Array(line.utf8).span)
        withExtendedLifetime([production, development, control]) { loop.run() }
    }

    /// The three ports; zeros for free ones.
    private static func ports(_ options: LabOptions) throws -> [UInt16] {
        guard let text = options.value("--ports") else { return [0, 0, 0] }
        let ports = text.split(separator: ",").compactMap { UInt16($0) }
        guard ports.count == 3 else {
            LabExit.usage("--ports: \(text) is not three ports: production, development, orders")
        }
        return ports
    }
}

/// The time of a stand-in: this machine's, plus an offset that a test may change.
final class StandInClock {
    var offset: Int64 = 0

    var seconds: Int64 { WallClock.now().seconds + offset }
}

extension AppleStandIn {
    fileprivate func reply(
        to request: HTTPRequest, _ environment: AttestEnvironment, at time: Int64
    ) -> StandInReply {
        reply(
            to: StandInRequest(
                environment: environment, method: request.method, path: request.target,
                authorization: request["Authorization"], body: request.body),
            at: time)
    }
}
