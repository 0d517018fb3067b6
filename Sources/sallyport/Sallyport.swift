import EventLoop

/// The command. Operators' scripts rely on its words and exit codes.
@main
enum Sallyport {
    static func main() {
        guard HostSystem.completeStandardStreams() else {
            Exit.failed("a standard stream is closed, and /dev/null cannot be opened")
        }
        let words = Array(CommandLine.arguments.dropFirst())
        guard let name = words.first else { Exit.usage(Help.text) }
        let rest = Array(words.dropFirst())
        switch name {
        case "run": RunCommand.main(rest)
        case "check": CheckCommand.main(rest)
        case "schema": SchemaCommand.main(rest)
        case "keys": KeysCommand.main(rest)
        case "audit": AuditCommand.main(rest)
        case "explain": ExplainCommand.main(rest)
        case "route": RouteCommand.main(rest)
        case "quota": QuotaCommand.main(rest)
        case "rollout": RolloutCommand.main(rest)
        case "doctor": DoctorCommand.main(rest)
        case "healthcheck": HealthcheckCommand.main(rest)
        case "developer-token": DeveloperTokenCommand.main(rest)
        case "version", "--version": VersionCommand.main(rest)
        case "help", "--help", "-h": Console.print(Help.text)
        default: Exit.usage("unknown command \(name)\n\n" + Help.text)
        }
        Exit.with(.ok)
    }
}

enum Version {
    static let text = "0.1.0"
}

enum Help {
    static let text = """
        usage: sallyport COMMAND [OPTION...]

          run [-c FILE] [--watch]     serve; SIGHUP reloads, SIGUSR2 upgrades, SIGTERM stops
          check [-c FILE]             report every error of the configuration
          schema                      print every setting: a schema for editors, a page, a file
          route [-c FILE] METHOD URL  show which route a request takes, and why
          doctor [-c FILE]            check stores, upstreams, secrets and Apple's keys
          healthcheck [-c FILE]       ask a running gateway whether it is ready
          rollout ACTION [-c FILE]    show, set, hold or resume rollouts that move by themselves
          quota ACTION [-c FILE]      list quotas; show, reset or raise what a sender has used
          keys ACTION [-c FILE]       import, export, back up, list, show, renew, revoke, erase
          audit [-c FILE]             show who changed keys, rollouts and tokens, and when
          explain KIND WHAT           say why a request was refused, or what an object holds
          developer-token [-c FILE]   let a machine without App Attest in for a while
          version                     print the version

        Each command prints its own options: sallyport COMMAND --help.
        Without -c, FILE is \(ConfigurationFile.defaultPath).
        Exit codes: 0 ok, 1 failed, 2 usage, 3 done but not confirmed, 78 configuration.
        """
}
