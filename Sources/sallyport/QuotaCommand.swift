import Bytes
import EventLoop
import HTTP
import JSON
import Settings

/// `sallyport quota`: shows and changes what senders have used of quotas, by the admin API of the
/// running gateway, because embedded counts are in its memory.
enum QuotaCommand {
    static let usage = """
        usage: sallyport quota ACTION [-c FILE] [NAME SENDER]

          list                       the quotas of the gateway, and what they count
          show NAME SENDER           what the sender has used and has left in this period
          reset NAME SENDER          set what the sender has used in this period to nothing
          grant NAME SENDER AMOUNT   give the sender so much more in this period

          --key KEY_ID            SENDER by a key; also for a quota by installation, or by user
                                  while the key's user is not known
          --user USER             by a user's name, as the header of signals.user has it
          --address IP            by an address; for IPv6 it stands for its /64
          --app APP_ID            by an app
          --installation ID       by an installation: 32 hexadecimal digits
          --unknown               all senders that the quota cannot tell apart
          --token-file TOKENS     the file with a token of admin.api (or NAME:TOKEN); without it,
                                  the first token of admin.api.token_file
          --ca FILE               the authorities that may vouch for admin.api, if it has tls;
                                  without it, those of the system
          --json                  print one JSON object; list prints one for each quota

        Asks the gateway of the configuration at admin.api.bind. reset and grant leave an entry in
        the audit log, under the token's name. Exit code 3: the change may have been made, or its
        entry may be lost; look before you repeat it.
        """

    private enum Action: String {
        case list
        case show
        case reset
        case grant
    }

    static func main(_ words: [String]) {
        guard let word = words.first else { Exit.usage(usage) }
        if ["--help", "-h"].contains(word) { return Console.print(usage) }
        guard let action = Action(rawValue: word) else {
            Exit.usage("unknown action \(word)\n\n\(usage)")
        }
        let arguments = Arguments(
            Array(words.dropFirst()),
            options: ["-c", "--config", "--token-file", "--ca"] + senderOptions,
            flags: ["--json", "--unknown"], usage: usage)
        guard let name = arguments.operands.first else {
            guard [.list, .show].contains(action), senders(arguments).isEmpty else {
                Exit.usage(usage)
            }
            return list(QuotaService(arguments), asJSON: arguments.wantsJSON)
        }
        guard action != .list, arguments.operands.count == (action == .grant ? 2 : 1) else {
            Exit.usage(usage)
        }
        let path = "/quotas/\(PercentEncoding.text(name))"
        let query = "?" + sender(arguments)
        let service = QuotaService(arguments)
        let answer =
            switch action {
            case .list, .show: service.ask("GET", path + query)
            case .reset: service.ask("POST", path + "/reset" + query)
            case .grant:
                service.ask("POST", path + "/grant" + query, body: body(arguments.operands[1]))
            }
        Console.print(arguments.wantsJSON ? answer.text : QuotaText.count(answer.json))
        QuotaService.exitIfUnconfirmed(answer)
    }

    private static func list(_ service: QuotaService, asJSON: Bool) {
        let quotas = service.ask("GET", "/quotas").json["quotas"]?.arrayValue ?? []
        guard !quotas.isEmpty else {
            // Without a quota, no object is printed.
            return asJSON ? () : Console.print("the gateway has no quotas")
        }
        for quota in quotas {
            guard asJSON else {
                Console.print(QuotaText.quota(quota))
                continue
            }
            var writer = JSONWriter()
            writer.element(quota)
            Console.print(String(decoding: writer.finish().readable.array, as: UTF8.self))
        }
    }

    // MARK: words

    private static let senderOptions = ["--key", "--user", "--address", "--app", "--installation"]

    /// The senders that the options name, as parameters of the query.
    private static func senders(_ arguments: Arguments) -> [String] {
        let named = senderOptions.flatMap { option in
            (arguments.options[option] ?? []).map {
                "\(option.dropFirst(2))=\(PercentEncoding.text($0))"
            }
        }
        return named + (arguments.flags.contains("--unknown") ? ["unknown=true"] : [])
    }

    private static func sender(_ arguments: Arguments) -> String {
        let senders = senders(arguments)
        guard senders.count == 1 else {
            Exit.usage(
                "name one sender: \(senderOptions.joined(separator: ", ")) or --unknown\n\n\(usage)"
            )
        }
        return senders[0]
    }

    private static func body(_ amount: String) -> String {
        guard let number = Int(amount), number > 0, amount.utf8.allSatisfy({ $0 != 0x2B }) else {
            Exit.usage("\(amount) is not an amount: write a whole number such as 5000")
        }
        return "{\"amount\":\(number)}"
    }
}

/// Text of the admin API's answers.
private enum QuotaText {
    static func quota(_ quota: JSONValue) -> String {
        let measure =
            quota["of"]?["json"]?.stringValue.map { "of \($0)" }
            ?? (quota["of"] == .string("requests") ? "requests" : "bytes of answers")
        return visible(
            "\(text(quota["quota"])): \(text(quota["limit"])) \(measure) per "
                + "\(text(quota["per"])), by \(text(quota["by"]))")
    }

    static func count(_ count: JSONValue) -> String {
        var line =
            "\(text(count["quota"])): \(text(count["used"])) used of \(text(count["limit"])), "
            + "\(text(count["remaining"])) left until \(text(count["period"]?["end"]))"
        if let before = count["used_before"] {
            line += count["outcome"] == .string("done") ? " (\(text(before)) before)" : " as before"
        }
        return visible(line)
    }

    private static func text(_ value: JSONValue?) -> String {
        value?.integerValue.map(String.init) ?? value?.stringValue ?? "?"
    }

    private static func visible(_ line: String) -> String { TerminalText.escaped(line) }
}
