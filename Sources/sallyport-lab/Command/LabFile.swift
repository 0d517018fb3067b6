import AndroidAttestationTesting
import AppAttestTesting
import Bytes
import EventLoop
import JSON

/// The files that the lab's commands keep between them, with simulated devices' private keys.
enum LabFile {
    private static let byteCountMax = 64 * 1024 * 1024

    static func read(_ path: String) throws -> [UInt8] {
        try File.read(path, byteCountMax: byteCountMax)
    }

    static func write(_ path: String, _ bytes: [UInt8]) throws {
        try File.write(path, bytes, mode: 0o600)
    }

    static func readJSON(_ path: String) throws -> JSONValue {
        let text = try read(path)
        return try JSONValue.parse(text.span, byteCountMax: byteCountMax, depthMax: 16)
    }

    static func writeJSON(_ path: String, _ value: JSONValue) throws {
        var writer = JSONWriter()
        writer.element(value)
        writer.raw("\n")
        let buffer = writer.finish()
        try write(path, buffer.readable.array)
    }

    static func apple(_ path: String) throws -> SimulatedApple {
        try SimulatedApple(state: try readJSON(path))
    }

    static func google(_ path: String) throws -> SimulatedGoogle {
        try SimulatedGoogle(state: try readJSON(path))
    }
}
