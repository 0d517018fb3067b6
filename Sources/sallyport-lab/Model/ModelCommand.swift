import AppAttestTesting
import Bytes
import EventLoop
import JSON
import TLS

/// `sallyport-lab model`: runs a stand-in for an AI service, on this machine.
enum ModelCommand {
    private static let usage = """
        usage: sallyport-lab model --key FILE [--port PORT] [--interval MS] [--show NAME,...]
                                   [--certificate FILE --certificate-key FILE]

        Serves POST /v1/chat/completions on 127.0.0.1, and prints its port as one line of JSON once
        it is open. Runs until it is ended. The answer says the words of the last message again,
        max_tokens (or max_completion_tokens) of them if the request has it. Each word is a token,
        in messages and in answers. With "stream": true the words come as events, and with
        "stream_options": {"include_usage": true} the last event before [DONE] counts the tokens.

          --key FILE         the API key: requests without `Authorization: Bearer KEY` get 401
          --port PORT        the port; a free one by default
          --interval MS      from one event of a stream to the next; 0 by default
          --show NAME,...    header fields of the request to print
          --certificate FILE, --certificate-key FILE
                             serve over TLS with these, in PEM

        For each request it prints one line of JSON when the answer has ended:
          {"method", "target", "status", "model", "streamed", "prompt_tokens",
           "completion_tokens", "ended_early", "fields": {NAME: VALUE}}
        ended_early: the client has left in the middle of a stream, and completion_tokens are the
        tokens made until then. Keys are not printed, unless --show names their field.
        """

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words,
            names: [
                "--key", "--port", "--interval", "--show", "--certificate", "--certificate-key",
            ], usage: usage)
        guard let port = UInt16(exactly: options.count("--port", or: 0)) else {
            LabExit.usage("--port: no port\n\n\(usage)")
        }
        let model = ModelStandIn(
            key: try key(options.required("--key")),
            interval: .milliseconds(options.count("--interval", or: 0)),
            shownFields: options.list("--show") ?? [])
        model.onLine = { line in _ = File.append(File.standardOutput, line.span) }
        let loop = try EventLoop()
        let listener = try StandInListener(loop, port: port, tls: try tls(options)) {
            model.answer(to: $0)
        }
        _ = File.append(File.standardOutput, Array("{\"port\":\(listener.port)}\n".utf8).span)
        withExtendedLifetime(listener) { loop.run() }
    }

    /// The key, without the line feed that editors put behind it.
    private static func key(_ path: String) throws -> String {
        let text = String(decoding: try LabFile.read(path), as: UTF8.self)
        let key = text.hasSuffix("\n") ? String(text.dropLast()) : text
        guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw LabError("\(path) holds no key")
        }
        return key
    }

    private static func tls(_ options: LabOptions) throws -> TLSServerContext? {
        guard let certificate = options.value("--certificate") else { return nil }
        let identity = try TLSIdentity(
            certificatePEM: try LabFile.read(certificate),
            keyPEM: try LabFile.read(options.required("--certificate-key")))
        return try StandInListener.tls(identity)
    }
}
