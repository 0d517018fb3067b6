import Bytes
import EventLoop
import Gateway
import JSON
import Settings
import TLS

/// The admin API of the gateway that a configuration describes.
struct QuotaService {
    struct Answer {
        let json: JSONValue
        /// The text of the same on one line.
        let text: String
    }

    private let bind: Endpoint
    private let token: String
    /// Nil if the API is without TLS.
    private let check: AdminServerCheck?

    /// The time for an answer: more than the minute that the gateway gives a statement of its
    /// registry, and twice ten seconds for the counter store.
    private static let timeout = Duration.seconds(90)
    /// The longest answer: some thousand quotas.
    private static let byteCountMax = 1024 * 1024
    /// The most bytes of a file of tokens: 64 of them.
    private static let tokenByteCountMax = 64 * 1024
    /// The most bytes of a file of authorities; a system's has some 200 KB.
    private static let authoritiesByteCountMax = 4 * 1024 * 1024

    /// Ends the process if the configuration has no API that this command can ask.
    init(_ arguments: Arguments) {
        let path = ConfigurationFile.path(arguments, usage: QuotaCommand.usage)
        guard let api = ConfigurationFile.loadOrExit(path).settings.admin?.api else {
            Self.unknown("\(path): admin.api is missing, and it is what this command asks")
        }
        if case .tcp(_, port: 0) = api.bind {
            Self.unknown("\(path): admin.api.bind: port 0 is any free port: name one")
        }
        bind = api.bind
        check = api.tls.map { Self.check($0.configuration, arguments, path) }
        token = Self.token(arguments.value("--token-file") ?? api.tokenPath)
    }

    private static func unknown(_ text: String) -> Never {
        Console.complain(text)
        Exit.with(.configuration)
    }

    /// The listener must prove the first name of its own certificate that is no wildcard.
    private static func check(
        _ configuration: TLSServerConfiguration, _ arguments: Arguments, _ path: String
    ) -> AdminServerCheck {
        guard configuration.clientCertificates?.isRequired != true else {
            unknown(
                "\(path): admin.api.tls asks clients for certificates, and this command has none: "
                    + "send the request with curl")
        }
        let names = configuration.certificates.flatMap(\.identity.names)
        guard let name = names.first(where: { !$0.contains("*") }) else {
            unknown("\(path): admin.api.tls: no certificate has a name that can be asked for")
        }
        do {
            let bundle =
                arguments.value("--ca")
                ?? TLSAuthorities.systemBundlePaths.first(where: File.exists)
            guard let bundle else { Exit.failed("the system has no authorities: give --ca") }
            let pem = try File.read(bundle, byteCountMax: authoritiesByteCountMax)
            let client = TLSClientConfiguration(authorities: try TLSAuthorities(pem: pem))
            return AdminServerCheck(context: try TLSClientContext(client), serverName: name)
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// The first token of a file in the form of `admin.api.token_file`.
    private static func token(_ path: String) -> String {
        do throws(IOError) {
            let bytes = try File.read(path, byteCountMax: tokenByteCountMax)
            let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
                .map { line in line.filter { !$0.isWhitespace } }
            guard let line = lines.first(where: { !$0.isEmpty && !$0.hasPrefix("#") }) else {
                Exit.failed("\(path): holds no token")
            }
            let token = line.split(separator: ":", maxSplits: 1).last.map(String.init) ?? line
            guard token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                Exit.failed("\(path): the first line is no token")
            }
            return token
        } catch {
            Exit.failed("\(error)")
        }
    }

    /// Ends the process if the entry of a change in the audit log may be lost. The change itself is
    /// made, so it must not be repeated.
    static func exitIfUnconfirmed(_ answer: Answer) {
        guard answer.json["confirmed"]?.boolValue == false else { return }
        for server in answer.json["unasked"]?.arrayValue ?? [] {
            let text = server.stringValue ?? ""
            Console.complain("sallyport: registry: " + TerminalText.escaped(text))
        }
        Console.complain(
            "sallyport: registry: the audit log has the change at the newest primary that answers,"
                + " and its entry may be lost (exit code 3): do not repeat the change")
        Exit.with(.unconfirmed)
    }

    /// The answer to a request. Ends the process if it is a refusal.
    func ask(_ method: String, _ target: String, body: String = "") -> Answer {
        do {
            let answer = try AdminQuestion.ask(
                bind.socketAddress(),
                AdminRequest(
                    method: method, target: target, token: token, body: Array(body.utf8),
                    answerByteCountMax: Self.byteCountMax),
                named: bind.description, timeout: Self.timeout, check: check)
            let json = try? JSONValue.parse(
                answer.body.span, byteCountMax: answer.body.count, depthMax: 8)
            guard [200, 202].contains(answer.status) else { refuse(answer, json) }
            guard let json else { throw AdminFailure.unreadable(bind.description) }
            let text = String(decoding: answer.body, as: UTF8.self)
            return Answer(
                json: json, text: TerminalText.escaped(text.filter { !$0.isNewline }))
        } catch let failure as AdminFailure where failure.wasSent && method != "GET" {
            Console.complain(
                "sallyport: \(failure): the change may have been made, so look at the count")
            Exit.with(.unconfirmed)
        } catch {
            Exit.failed("\(error)")
        }
    }

    private func refuse(_ answer: AdminQuestion.Answer, _ json: JSONValue?) -> Never {
        let code = json?["code"]?.stringValue
        let detail = json?["detail"]?.stringValue ?? answer.firstLine
        let text = "\(bind): \(answer.status) \(code ?? ""): \(detail)"
        Console.complain("sallyport: " + TerminalText.escaped(text))
        Exit.with(code == "counters_unconfirmed" ? .unconfirmed : .failed)
    }
}
