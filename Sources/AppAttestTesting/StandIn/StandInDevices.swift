import AppAttest
import Bytes
import JSON

/// The DeviceCheck service of a stand-in for Apple.
struct StandInDevices {
    private struct Owner: Hashable {
        let teamID: String
        let device: String
    }

    private struct Bits {
        var bit0: Bool
        var bit1: Bool
        var month: String
    }

    let secret: [UInt8]
    private var bits: [Owner: Bits] = [:]
    /// The tokens that came, with the time of the first use.
    private var firstUses: [SimulatedDeviceToken: Int64] = [:]
    private var transactions: Set<String> = []

    private static let badToken = "Bad Device Token"
    private static let timestampSkewMilliseconds: Int64 = 24 * 3600 * 1000

    init(secret: [UInt8]) { self.secret = secret }

    func bits(teamID: String, device: String) -> (bit0: Bool, bit1: Bool)? {
        bits[Owner(teamID: teamID, device: device)].map { ($0.bit0, $0.bit1) }
    }

    mutating func reply(
        to request: StandInRequest, teamID: String, at seconds: Int64, tokenLifeSeconds: Int64
    ) -> StandInReply {
        let known = ["query_two_bits", "update_two_bits", "validate_device_token"]
        guard let name = known.first(where: { request.path == "/v1/" + $0 }) else {
            return StandInReply(status: 404)
        }
        guard let body = try? JSONValue.parse(request.body.span, byteCountMax: 16 * 1024) else {
            return StandInReply(status: 400, text: "Missing or incorrectly formatted payload")
        }
        guard let transaction = body["transaction_id"]?.stringValue, !transaction.isEmpty,
            transactions.insert(transaction).inserted
        else { return StandInReply(status: 400, text: "Missing or badly formatted transaction ID") }
        guard case .integer(let time) = body["timestamp"],
            abs(time - seconds * 1000) < Self.timestampSkewMilliseconds
        else { return StandInReply(status: 400, text: "Missing or badly formatted time stamp") }
        guard let text = body["device_token"]?.stringValue, Base64.decode(text) != nil else {
            return StandInReply(
                status: 400, text: "Missing or incorrectly formatted device token payload")
        }
        guard let token = SimulatedDeviceToken(text: text, secret: secret),
            token.teamID == teamID, token.environment == request.environment,
            isAlive(token, at: seconds, tokenLifeSeconds)
        else { return StandInReply(status: 400, text: Self.badToken) }
        let owner = Owner(teamID: teamID, device: token.device)
        switch name {
        case "query_two_bits": return query(owner)
        case "update_two_bits": return update(owner, body, at: seconds)
        default: return StandInReply(status: 200)
        }
    }

    private mutating func isAlive(
        _ token: SimulatedDeviceToken, at seconds: Int64, _ life: Int64
    ) -> Bool {
        guard let first = firstUses[token] else {
            firstUses[token] = seconds
            return true
        }
        return seconds - first < life
    }

    private func query(_ owner: Owner) -> StandInReply {
        // Apple uses both texts, whichever server answers.
        guard let found = bits[owner] else {
            let isLong = owner.device.utf8.count.isMultiple(of: 2)
            return StandInReply(
                status: 200, text: isLong ? "Failed to find bit state" : "Bit State Not Found")
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("bit0", bool: found.bit0)
        writer.member("bit1", bool: found.bit1)
        writer.member("last_update_time", string: found.month)
        writer.endObject()
        let buffer = writer.finish()
        return StandInReply(status: 200, body: buffer.readable.array)
    }

    private mutating func update(
        _ owner: Owner, _ body: JSONValue, at seconds: Int64
    ) -> StandInReply {
        guard case .bool(let bit0) = body["bit0"], case .bool(let bit1) = body["bit1"] else {
            return StandInReply(status: 400, text: "Missing or badly formatted bits")
        }
        let month = String(Timestamp(seconds: seconds).text.prefix(7))
        bits[owner] = Bits(bit0: bit0, bit1: bit1, month: month)
        return StandInReply(status: 200)
    }
}
