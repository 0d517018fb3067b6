import CryptoKit
import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The body of a request. A file is read in pieces, for its digest and for sending.
public enum RequestBody: Sendable, Equatable {
    case none
    case data(Data)
    /// A file that does not change until the request has been answered.
    case file(URL)

    private static let pieceByteCount = 64 * 1024

    /// The SHA-256 of the body, 32 bytes.
    func digest() throws -> Data {
        switch self {
        case .none: return Data(SHA256.hash(data: Data()))
        case .data(let data): return Data(SHA256.hash(data: data))
        case .file(let url):
            let file = try FileHandle(forReadingFrom: url)
            defer { try? file.close() }
            var hash = SHA256()
            while let piece = try file.read(upToCount: Self.pieceByteCount), !piece.isEmpty {
                hash.update(data: piece)
            }
            return Data(hash.finalize())
        }
    }

    /// The given body, or the request's own body.
    static func of(_ request: URLRequest, _ given: RequestBody?) throws -> RequestBody {
        if let given { return given }
        guard request.httpBodyStream == nil else {
            throw ClientError.invalidRequest("a stream can be read once: give the body as a file")
        }
        return request.httpBody.map { $0.isEmpty ? .none : .data($0) } ?? .none
    }
}
