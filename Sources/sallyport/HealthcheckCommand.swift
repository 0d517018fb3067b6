import EventLoop
import Gateway
import JSON
import Settings

/// `sallyport healthcheck`: checks if the gateway is ready, for container engines and scripts.
enum HealthcheckCommand {
    static let usage = """
        usage: sallyport healthcheck [-c FILE | --address ADDRESS] [--json]

          --address ADDRESS   host:port, [v6]:port or unix:/path of the admin listener; without it,
                              admin.probes.bind of the configuration, or admin.bind if there is
                              none
          --json              print the answer as one JSON object

        Asks that listener for /readyz. Exit code 0: the gateway is ready. 1: it is not, or it
        does not answer within 5 seconds. 78: no address to ask was found.
        """

    static func main(_ words: [String]) {
        let arguments = Arguments(
            words, options: ["-c", "--config", "--address"], flags: ["--json"], usage: usage)
        arguments.refuseOperands(usage: usage)
        let endpoint = endpoint(arguments)
        do {
            let answer = try AdminQuestion.ask(
                endpoint.socketAddress(), AdminRequest(target: "/readyz"),
                named: endpoint.description, timeout: timeout)
            if arguments.wantsJSON {
                MachineOutput.print { writer in
                    writer.member("ready", bool: answer.status == 200)
                    writer.member("status", int: Int64(answer.status))
                    writer.member("text", string: answer.firstLine)
                }
                Exit.with(answer.status == 200 ? .ok : .failed)
            }
            guard answer.status == 200 else {
                Exit.failed("\(endpoint): \(answer.status) \(answer.firstLine)")
            }
            Console.print(answer.firstLine)
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// The time for an answer. `/readyz` is answered from memory, so only a stuck gateway takes
    /// longer.
    private static let timeout = Duration.seconds(5)

    private static func endpoint(_ arguments: Arguments) -> Endpoint {
        if let text = arguments.value("--address") {
            guard arguments.value("-c") == nil, arguments.value("--config") == nil else {
                Exit.usage("-c and --address exclude each other\n\n\(usage)")
            }
            guard let endpoint = Endpoint(connectingTo: text) else {
                Exit.usage("--address: \(text) is not host:port, [v6]:port or unix:/path")
            }
            return endpoint
        }
        let path = ConfigurationFile.path(arguments, usage: usage)
        switch ConfigurationFile.load(path) {
        case .failure(let problems):
            for problem in problems.problems { Console.complain(problem.description) }
            Exit.with(.configuration)
        // Its warnings are for operators who change it, not for a log that is written every minute.
        case .success(let loaded):
            guard let admin = loaded.settings.admin else {
                unknown("\(path): admin is missing, and it is the listener to ask")
            }
            // The listener for probes, if there is one, answers nothing else, and more users may
            // reach it.
            let (name, bind) =
                admin.probes.map { ("admin.probes.bind", $0.bind) } ?? ("admin.bind", admin.bind)
            if case .tcp(_, port: 0) = bind {
                unknown("\(path): \(name): port 0 is any free port: use --address")
            }
            return bind
        }
    }

    private static func unknown(_ text: String) -> Never {
        Console.complain(text)
        Exit.with(.configuration)
    }
}
