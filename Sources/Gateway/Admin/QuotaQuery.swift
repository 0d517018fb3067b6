import Attestation
import Bytes
import EventLoop
import JSON
import KeyStore

extension AdministrationQuery {
    static let senderNames = ["key", "user", "address", "app", "installation", "unknown"]

    /// The one sender that the query names.
    func quotaSelection() throws(AdministrationFault) -> QuotaSelection {
        guard values.count == 1, let (name, text) = values.first else {
            throw AdministrationFault(
                "name one sender, by one of: " + Self.senderNames.joined(separator: ", "))
        }
        switch name {
        case "key": return .key(try sender(KeyID(base64: text), name, "base64 of 32 bytes"))
        case "user": return .user(try sender(text.isEmpty ? nil : text, name, "a name"))
        case "address":
            let address = SocketAddress.numeric(host: text, port: 0)?.ipv6Form
            return .address(try sender(address, name, "an IP address"))
        case "app": return .app(try sender(text.isEmpty ? nil : text, name, "an App ID"))
        case "installation":
            return .installation(
                try sender(InstallationID(text), name, "32 hexadecimal digits"))
        default: return try sender(text == "true" ? .unknown : nil, name, "true")
        }
    }

    private func sender<Value>(
        _ value: Value?, _ name: String, _ form: String
    ) throws(AdministrationFault) -> Value {
        guard let value else { throw AdministrationFault("\(name) is not \(form)") }
        return value
    }
}

/// The bodies of calls that change counts.
enum QuotaBody {
    /// Reads `{"amount": N}`. Unknown members are refused.
    static func amount(_ value: JSONValue?) throws(AdministrationFault) -> Int {
        guard let members = value?.objectValue, members.count == 1, let amount = members["amount"]
        else { throw AdministrationFault("the body is not {\"amount\": N}") }
        guard let number = amount.integerValue, (1...QuotaSums.sumMax).contains(Int(number)) else {
            throw AdministrationFault("amount is not a number from 1 to \(QuotaSums.sumMax)")
        }
        return Int(number)
    }
}
