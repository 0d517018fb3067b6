import AndroidAttestation
import Bytes
import EventLoop
import JSON
package import Settings

/// A revocation list as it is kept for the next gateway.
struct KeptRevocations: Sendable {
    /// The URL that it was fetched from.
    let url: String
    let document: [UInt8]
    /// The time at which the server itself sent it, in milliseconds since 1970 by this machine's
    /// clock.
    let fetchedAtMilliseconds: Int64
}

/// The file of the list that was last fetched, beside the registry. With it, a gateway that starts
/// while the server is down can go on.
///
/// Below the digest are a line that names the URL and the time of the fetch, and the document as it
/// came, which is parsed as strictly as an answer.
package struct RevocationFile: Sendable {
    let path: String

    /// Nil if the gateway has no folder of its own, because its registry is a database.
    package init?(_ settings: Settings) {
        guard case .sqlite(let path) = settings.registry else { return nil }
        self.init(registryPath: path)
    }

    package init(registryPath: String) { path = registryPath + ".android-revocations" }

    /// Writes the list. Blocks.
    func write(_ kept: KeptRevocations) throws(IOError) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: Self.format)
        writer.member("url", string: kept.url)
        writer.member("fetched_at_ms", int: kept.fetchedAtMilliseconds)
        writer.endObject()
        let header = writer.finish().readable.array
        try DigestedFile.write(path, header + [Self.lineFeed] + kept.document)
    }

    /// Reads the list. Blocks. Nil if there is none.
    func read() throws(DigestedFileError) -> KeptRevocations? {
        guard let text = try DigestedFile.read(path, byteCountMax: Self.byteCountMax) else {
            return nil
        }
        let parts = text.split(separator: Self.lineFeed, maxSplits: 1).map(Array.init)
        guard parts.count == 2 else { throw DigestedFileError("\(path): is of another version") }
        let (first, document) = (parts[0], parts[1])
        guard
            let header = try? JSONValue.parse(first.span, byteCountMax: Self.headerByteCountMax),
            header["format"]?.integerValue == Self.format, let url = header["url"]?.stringValue,
            let fetchedAt = header["fetched_at_ms"]?.integerValue, fetchedAt >= 0
        else { throw DigestedFileError("\(path): is of another version") }
        return KeptRevocations(url: url, document: document, fetchedAtMilliseconds: fetchedAt)
    }

    private static let format: Int64 = 1
    private static let lineFeed = UInt8(ascii: "\n")
    private static let headerByteCountMax = 16 * 1024
    private static let byteCountMax = RevocationList.byteCountMax + headerByteCountMax
}
