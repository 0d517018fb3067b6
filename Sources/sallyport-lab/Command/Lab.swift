/// The command `sallyport-lab`: simulated devices with their Apple and Google, a load generator,
/// the demo.
@main
enum Lab {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        guard let name = words.first else { LabExit.usage(help) }
        do {
            try run(name, Array(words.dropFirst()))
        } catch {
            LabExit.failed("\(error)")
        }
    }

    /// Runs one command. Ends the process if the words are wrong.
    static func run(_ name: String, _ rest: [String]) throws {
        switch name {
        case "root": try RootCommand.run(rest)
        case "device": try DeviceCommand.run(rest)
        case "sign": try SignCommand.run(rest)
        case "mint": try MintCommand.run(rest)
        case "vectors": try VectorsCommand.run(rest)
        case "seed": try SeedCommand.run(rest)
        case "load": try LoadCommand.run(rest)
        case "visits": try VisitsCommand.run(rest)
        case "model": try ModelCommand.run(rest)
        case "demo": try DemoCommand.run(rest)
        case "apple": try AppleCommand.run(rest)
        case "trial": try TrialCommand.run(rest)
        case "signatures": try SignaturesCommand.run(rest)
        case "ports": try PortsCommand.run(rest)
        case "batch": try BatchCommand.run(rest)
        case "help", "--help", "-h": print(help)
        default: LabExit.usage("unknown command \(name)\n\n\(help)")
        }
    }

    static let help = """
        usage: sallyport-lab COMMAND [OPTION...]

          root     mint a stand-in for Apple or Google, and write its root for a gateway's `trust`
          device   enrol, request, curl, token, show: a simulated device kept in a file
          sign     a service on this machine that signs requests of Bruno, Postman and the like
          mint     make one attestation, assertion, signature or receipt, right or with one fault
          vectors  signed requests with the verdict that each has to get, for tests of clients
          seed     write key records for `sallyport keys import`
          load     requests in a closed loop, plain or asserted; prints one JSON line
          visits   signed requests of clients that connect anew and give up; prints one JSON line
          apple    a stand-in for Apple's services: receipts, DeviceCheck, and all their errors
          model    a stand-in for an AI service that counts tokens, whole or as a stream of events
          demo     the device's side of `make demo`
          trial    a gateway that misbehaves on purpose: scores a client
          signatures  compares the library that verifies batches with OpenSSL
          ports    print free ports of 127.0.0.1
          batch    run the commands of its input in one process

        `sallyport-lab COMMAND --help` prints a command's options.
        Exit codes: 0 ok, 1 failed, 2 usage. For tests and demonstrations only.
        """
}
