import AppAttestTesting
import HTTP

/// The names of the headers with which a device proves requests, as the gateway's settings under
/// `headers` may rename them.
struct DeviceHeaders {
    private(set) var names = RequestHeaderNames()
    /// The header for a token of DeviceCheck.
    private(set) var deviceCheck = "X-Device-Check-Token"

    /// Parses `assertion=NAME,client_data=NAME,key_id=NAME,device_check=NAME`, each of which may be
    /// left out; nil for the usual names.
    init(_ text: String?) throws {
        var known: Set<Substring> = []
        for pair in text?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
            let setting = pair.prefix { $0 != "=" }
            let name = String(pair.dropFirst(setting.count + 1))
            let bytes = Array(name.utf8)
            guard bytes.span.isToken else {
                throw LabError("--headers: \(pair) is not SETTING=NAME")
            }
            guard known.insert(setting).inserted else {
                throw LabError("--headers: \(setting) is there twice")
            }
            switch setting {
            case "assertion": names.assertion = name
            case "client_data": names.clientData = name
            case "key_id": names.keyID = name
            case "device_check": deviceCheck = name
            default:
                throw LabError(
                    "--headers: \(setting) is none of: assertion client_data key_id device_check")
            }
        }
        let all = [names.assertion, names.clientData, names.keyID, deviceCheck]
        guard Set(all.map { $0.lowercased() }).count == all.count else {
            throw LabError("--headers: two settings have one name")
        }
    }
}
