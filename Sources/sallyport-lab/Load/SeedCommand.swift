import AppAttestTesting
import Attestation
import Bytes
import Crypto
import EventLoop
import JSON

/// `sallyport-lab seed`: makes key records for `sallyport keys import`.
enum SeedCommand {
    private static let usage = """
        usage: sallyport-lab seed --count N --seed WORD --app APP_ID [--from N]

        Writes N key records to standard output, one JSON object a line. The private keys follow
        from WORD: `sallyport-lab load --seed WORD` has the same ones.
        """
    private static let batchByteCount = 1 << 20

    static func run(_ words: [String]) throws {
        let options = LabOptions(
            words, names: ["--count", "--seed", "--app", "--from"], usage: usage)
        let keys = SeededKeys(seed: options.required("--seed"))
        let appID = options.required("--app")
        let first = options.count("--from", or: 0)
        var writer = JSONWriter()
        for index in first..<first + options.count("--count", or: 1) {
            let device = try keys.device(index, appID: appID)
            writer.beginObject()
            writer.member("key_id", string: device.keyID.base64)
            writer.member("public_key", string: Base64.encode(device.publicKey.x963))
            writer.member("app_id", string: appID)
            writer.member("environment", string: device.environment.rawValue)
            writer.member("counter", int: 0)
            writer.endObject()
            writer.raw("\n")
            if writer.buffer.count > batchByteCount {
                try write(writer.buffer.readable)
                writer.reset()
            }
        }
        try write(writer.buffer.readable)
    }

    private static func write(_ bytes: Span<UInt8>) throws {
        var start = 0
        while start < bytes.count {
            switch File.append(File.standardOutput, bytes.extracting(start...)) {
            case .bytes(let count): start += count
            case .wouldBlock: continue
            case .failed(let code): throw LabError("standard output: errno \(code)")
            }
        }
    }
}
