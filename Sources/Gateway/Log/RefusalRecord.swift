import Attestation
import Bytes
import EventLoop
import HTTP
import Judgement
import KeyStore
import Policy
import Settings

/// The status page's record of one request that was refused, or would have been if its route
/// enforced. Never holds a query, an assertion, a token or a key.
///
/// A worker makes it when it refuses: one object and one block of bytes, both bounded. It is turned
/// into words only when the page is read.
final class RefusalRecord: Sendable {
    let seconds: Int64
    let nanoseconds: Int32
    let durationNanoseconds: UInt64
    let decision: Decision
    let reason: Reason
    /// The member `detail` of the access line.
    let detail: String?
    let status: UInt16
    /// The action that the client was told to take; nil if it was told none.
    let action: Reason.Action?
    let client: SocketAddress?
    let route: String?
    let app: String?
    /// The platform of the proof, or the one that an enrolment names.
    let platform: PlatformName?
    let version: String?
    let environment: AttestEnvironment?
    /// The key's name by `log.keys`.
    let key: String?
    /// Request ID, method, host, path and user agent, one after another.
    private let text: [UInt8]
    private let ends: [5 of UInt16]

    /// True if the exchange had a fault that operators may ask about.
    static func isOwed(_ exchange: Exchange) -> Bool {
        guard exchange.outcome.reason != .ok, !exchange.client.listener.isAdmin else {
            return false
        }
        switch exchange.outcome.decision {
        case .refused, .observed, .tolerated, .limited, .unjudged: return true
        case .passed, .verified, .developer, .foreign, .answered, .undecided: return false
        }
    }

    init(_ exchange: Exchange, _ verdict: borrowing Verdict, nanoseconds: UInt64) {
        (seconds, self.nanoseconds) = WallClock.now()
        durationNanoseconds = nanoseconds
        let outcome = exchange.outcome
        (decision, reason) = (outcome.decision, outcome.reason)
        detail = outcome.cause?.text
        status = exchange.recorder.loggedStatus
        action = exchange.progress.toldAction
        client = exchange.intake.origin?.address
        route =
            exchange.intake.match.routeIndex.map { exchange.site.settings.routes[$0].name }
            ?? exchange.intake.match.endpoint?.routeName
        app = verdict.sender.appID
        platform = verdict.sender.platform
        version =
            exchange.prover.known.key?.bundleVersion
            ?? exchange.endpoints.enrolment?.record.bundleVersion
        environment = exchange.recorder.environment(verdict)
        key = verdict.sender.keyID.flatMap { exchange.site.shownName(of: $0) }
        var buffer = ByteBuffer(capacity: 256)
        exchange.rewriter.appendRequestID(to: &buffer)
        var ends: [5 of UInt16] = .init(repeating: UInt16(buffer.count))
        if let request = LoggedRequest(exchange) {
            let headBytes = exchange.intake.headBytes
            let bytes = headBytes.span
            func append(_ part: Range32?, _ index: Int) {
                if let part {
                    let count = min(part.count, UInt32(Self.byteCountsMax[index - 1]))
                    buffer.append(bytes.extracting(Range32(start: part.start, count: count)))
                }
                ends[index] = UInt16(buffer.count)
            }
            append(request.method, 1)
            append(request.host, 2)
            append(request.path, 3)
            append(request.userAgent, 4)
        }
        self.ends = ends
        text = buffer.readable.array
    }

    /// The request's id, which every answer has in `X-Request-Id`.
    var requestID: ArraySlice<UInt8> { text[..<Int(ends[0])] }
    var method: ArraySlice<UInt8> { part(1) }
    var host: ArraySlice<UInt8> { part(2) }
    /// The path without its query, cut after ``byteCountsMax``.
    var path: ArraySlice<UInt8> { part(3) }
    var userAgent: ArraySlice<UInt8> { part(4) }

    private func part(_ index: Int) -> ArraySlice<UInt8> {
        text[Int(ends[index - 1])..<Int(ends[index])]
    }

    /// The client's network, which identifies one client as well as an address can: the holder of
    /// one IPv6 address also has the 2^64 around it.
    var clientBlock: [UInt8] {
        guard let bytes = client?.ipBytes else { return [] }
        return bytes.count == 16 ? Array(bytes[..<8]) : bytes
    }

    /// The most bytes of method, host, path and user agent: enough to recognise a request by.
    static let byteCountsMax = [32, 128, 512, 192]
}

extension Site {
    /// The name by which log and status page show a key; nil for `log.keys: off`.
    fileprivate func shownName(of keyID: KeyID) -> String? {
        switch settings.log.keys {
        case .pseudonym: "\(pseudonyms.pseudonym(of: keyID))"
        case .prefix: keyID.logPrefix
        case .off: nil
        }
    }
}
