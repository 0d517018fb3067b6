import Bytes
package import EventLoop
import JSON
package import JWT
package import Settings

/// The keys of one issuer at the last fetch.
package struct KeptKeySet: Sendable {
    let place: IssuerKeyRegister.Place
    package let keys: JSONWebKeySet
    /// The time of the fetch, in milliseconds since 1970 by this machine's clock.
    package let fetchedAtMilliseconds: Int64

    package init(
        place: IssuerKeyRegister.Place, keys: JSONWebKeySet, fetchedAtMilliseconds: Int64
    ) {
        (self.place, self.keys) = (place, keys)
        self.fetchedAtMilliseconds = fetchedAtMilliseconds
    }
}

/// The files of the keys that were last fetched, one for each issuer. With them, a gateway that
/// starts while an issuer is down can go on.
///
/// The first line is a digest of the others, so that a damaged file is not believed. The second
/// names the keys and the time of the fetch. The third is a document of the keys alone, which is
/// parsed as strictly as an answer.
package struct KeySetFolder: Sendable {
    /// The prefix of the files' paths.
    private let base: String

    /// Nil if the gateway has no folder of its own, because its registry is a database.
    package init?(_ settings: Settings) {
        guard case .sqlite(let path) = settings.registry else { return nil }
        base = path + ".jwks-"
    }

    /// The path of a file. Names of places have only characters that a file name may have.
    func path(of place: IssuerKeyRegister.Place) -> String { base + place.name }

    /// Writes the keys. Blocks.
    package func write(_ kept: KeptKeySet) throws(IOError) {
        let text = Self.header(kept) + [Self.lineFeed] + kept.keys.document
        try DigestedFile.write(path(of: kept.place), text)
    }

    /// Reads the keys. Blocks. Nil if there are none of the place.
    package func read(_ place: IssuerKeyRegister.Place) throws(DigestedFileError) -> KeptKeySet? {
        let path = path(of: place)
        guard let text = try DigestedFile.read(path, byteCountMax: Self.byteCountMax) else {
            return nil
        }
        guard let kept = Self.parse(text) else {
            throw DigestedFileError("\(path): is of another version")
        }
        return kept.place == place ? kept : nil
    }

    private static func header(_ kept: KeptKeySet) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: format)
        writer.member("name", string: kept.place.name)
        if let issuer = kept.place.issuer { writer.member("issuer", string: issuer) }
        writer.member("url", string: kept.place.url)
        writer.member("fetched_at_ms", int: kept.fetchedAtMilliseconds)
        writer.endObject()
        return writer.finish().readable.array
    }

    private static func parse(_ text: ArraySlice<UInt8>) -> KeptKeySet? {
        let parts = text.split(separator: lineFeed, maxSplits: 1).map(Array.init)
        guard parts.count == 2 else { return nil }
        let (first, document) = (parts[0], parts[1])
        guard let header = try? JSONValue.parse(first.span, byteCountMax: headerByteCountMax),
            header["format"]?.integerValue == format,
            let name = header["name"]?.stringValue, let url = header["url"]?.stringValue,
            let fetchedAt = header["fetched_at_ms"]?.integerValue, fetchedAt >= 0,
            let keys = try? JSONWebKeySet(parsing: document.span)
        else { return nil }
        let place = IssuerKeyRegister.Place(
            name: name, issuer: header["issuer"]?.stringValue, url: url)
        return KeptKeySet(place: place, keys: keys, fetchedAtMilliseconds: fetchedAt)
    }

    private static let format: Int64 = 1
    private static let lineFeed = UInt8(ascii: "\n")
    private static let headerByteCountMax = 16 * 1024
    private static let byteCountMax = JSONWebKeySet.byteCountMax + headerByteCountMax
}
