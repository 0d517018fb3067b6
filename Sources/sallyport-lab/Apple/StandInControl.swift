import AppAttest
import AppAttestTesting
import Attestation
import Bytes
import JSON

/// The commands that a stand-in for Apple's services accepts.
struct StandInControl {
    let standIn: AppleStandIn
    let clock: StandInClock

    private struct BadOrder: Error {
        let text: String
    }

    func reply(_ method: String, _ path: String, _ body: [UInt8]) -> StandInReply {
        do throws(BadOrder) {
            let order = body.isEmpty ? JSONValue.object([:]) : try parse(body)
            var writer = JSONWriter()
            writer.element(try carryOut("\(method) \(path)", order))
            let buffer = writer.finish()
            return StandInReply(status: 200, body: buffer.readable.array)
        } catch {
            return StandInReply(status: 400, text: error.text)
        }
    }

    private func parse(_ body: [UInt8]) throws(BadOrder) -> JSONValue {
        guard let value = try? JSONValue.parse(body.span, byteCountMax: 256 * 1024) else {
            throw BadOrder(text: "not JSON")
        }
        return value
    }

    private func carryOut(_ name: String, _ order: JSONValue) throws(BadOrder) -> JSONValue {
        switch name {
        case "POST /faults": standIn.add(try fault(order))
        case "DELETE /faults": standIn.clearFaults()
        case "GET /requests": return requests()
        case "DELETE /requests": standIn.clearRecords()
        case "POST /device-tokens": return try deviceTokens(order)
        case "POST /bits": return try bits(order)
        case "POST /keys":
            let keyID = try text("key_id", order)
            if order["revoked"]?.boolValue ?? true {
                standIn.revoke(keyID: keyID)
            } else {
                standIn.restore(keyID: keyID)
            }
        case "POST /attested-keys": try attestedKey(order)
        case "POST /clock":
            guard let offset = order["offset"]?.integerValue else {
                throw BadOrder(text: "offset is missing")
            }
            clock.offset = offset
        default: throw BadOrder(text: "unknown order \(name)")
        }
        return .object([:])
    }

    private func text(_ name: String, _ order: JSONValue) throws(BadOrder) -> String {
        guard let text = order[name]?.stringValue else {
            throw BadOrder(text: "\(name) is missing")
        }
        return text
    }

    private func choice<Value: RawRepresentable>(
        _ name: String, _ order: JSONValue
    ) throws(BadOrder) -> Value? where Value.RawValue == String {
        guard let text = order[name]?.stringValue else { return nil }
        guard let value = Value(rawValue: text) else {
            throw BadOrder(text: "\(name): unknown \(text)")
        }
        return value
    }

    private func fault(_ order: JSONValue) throws(BadOrder) -> StandInFault {
        var fault = StandInFault()
        fault.service = try choice("service", order)
        fault.environment = try choice("environment", order)
        let count = order["count"]?.integerValue ?? 1
        fault.count = count == 0 ? nil : Int(count)
        fault.conduct = try choice("conduct", order) ?? .whole
        fault.delay = .milliseconds(order["delay_ms"]?.integerValue ?? 0)
        if let status = order["status"]?.integerValue {
            var reply = StandInReply(
                status: Int(status), text: order["body"]?.stringValue ?? "")
            let retryAfter = order["retry_after"]
            reply.retryAfter = retryAfter?.stringValue ?? retryAfter?.integerValue.map { "\($0)" }
            fault.reply = reply
        }
        return fault
    }

    private func requests() -> JSONValue {
        let records = standIn.records.map { record in
            JSONValue.object([
                "service": .string(record.service), "path": .string(record.path),
                "environment": .string(record.environment.rawValue),
                "key_id": record.keyID.map { .string($0) } ?? .null,
                "status": .integer(Int64(record.status)),
            ])
        }
        return .object([
            "count": .integer(Int64(standIn.requestCount)), "requests": .array(records),
        ])
    }

    private func deviceTokens(_ order: JSONValue) throws(BadOrder) -> JSONValue {
        let device = try text("device", order)
        let team = try text("team", order)
        let environment: AttestEnvironment = try choice("environment", order) ?? .production
        let count = max(0, min(order["count"]?.integerValue ?? 1, 10_000))
        let tokens = (0..<count).map { _ in
            standIn.deviceToken(device: device, teamID: team, environment: environment)
        }
        return .object(["tokens": .array(tokens.map { .string($0) })])
    }

    private func bits(_ order: JSONValue) throws(BadOrder) -> JSONValue {
        let found = standIn.bits(
            teamID: try text("team", order), device: try text("device", order))
        guard let found else { return .null }
        return .object(["bit0": .bool(found.bit0), "bit1": .bool(found.bit1)])
    }

    private func attestedKey(_ order: JSONValue) throws(BadOrder) {
        guard let keyID = KeyID(base64: Array(try text("key_id", order).utf8).span) else {
            throw BadOrder(text: "key_id is not a key id")
        }
        if let device = order["device"]?.stringValue { standIn.place([keyID], on: device) }
        if let risk = order["risk"]?.integerValue.flatMap({ UInt32(exactly: $0) }) {
            standIn.setRisk(risk, of: keyID)
        }
        if order["forgotten"]?.boolValue == true { standIn.forget(keyID) }
    }
}
