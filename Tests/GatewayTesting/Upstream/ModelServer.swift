import Bytes
import Foundation
public import JSON

/// `sallyport-lab model`: a stand-in for an AI service, in a process of its own.
public final class ModelServer: Sendable {
    public static let key = "sk-of-the-operator"
    public static let target = "/v1/chat/completions"

    public let port: UInt16
    /// The file that holds ``key``.
    public let keyPath: String
    private let process: ChildProcess

    /// `options`: further words of the command.
    public init(in directory: ScratchDirectory, _ options: [String] = []) throws {
        keyPath = try directory.write(Self.key + "\n", to: "model-key")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: keyPath)
        process = try ChildProcess(BuiltProgram.lab, ["model", "--key", keyPath] + options)
        let line = Array(try process.waitForLine(on: .standardOutput) { !$0.isEmpty }.utf8)
        let members = try JSONValue.parse(line.span, byteCountMax: 1024)
        guard let port = members["port"]?.integerValue.flatMap({ UInt16(exactly: $0) }) else {
            throw RawSocketError("the stand-in has no port")
        }
        self.port = port
    }

    /// Waits for the line about the request at `index`, counted from 0, and returns it.
    public func line(_ index: Int) throws -> JSONValue {
        // The first line has the port.
        let line = try process.waitForLine(on: .standardOutput, from: index + 1) { !$0.isEmpty }
        return try JSONValue.parse(Array(line.utf8).span, byteCountMax: 64 * 1024)
    }

    /// All that it has printed.
    public var text: String { process.text(on: .standardOutput) }

    /// The body of a request.
    public static func chat(
        model: String = "gpt-x", _ messages: String..., tokenCountMax: Int? = nil,
        streamed: Bool = false, tellsUsage: Bool = false
    ) -> [UInt8] {
        var members: [String: JSONValue] = [
            "model": .string(model),
            "messages": .array(
                messages.map { .object(["role": .string("user"), "content": .string($0)]) }),
        ]
        if let tokenCountMax { members["max_tokens"] = .integer(Int64(tokenCountMax)) }
        if streamed { members["stream"] = .bool(true) }
        if tellsUsage { members["stream_options"] = .object(["include_usage": .bool(true)]) }
        var writer = JSONWriter()
        writer.element(.object(members))
        let buffer = writer.finish()
        return buffer.readable.array
    }
}
