import AppAttestTesting
import Bytes
import EventLoop

/// Requests that are signed before a run, so that nothing is signed while it is measured.
struct SignedStock {
    let address: SocketAddress
    let path: String
    /// The gateway's setting `endpoints.base`.
    let base: String
    let devices: [SimulatedDevice]

    /// Makes the bytes of `count` requests, by the devices in turn, each over a challenge of its
    /// own.
    func requests(_ count: Int) throws -> [[UInt8]] {
        let connection = try HTTPConnection(address)
        return try (0..<count).map { index in
            let answer = try connection.exchange(
                HTTPRequest(method: "GET", target: base + "assert/challenge"))
            guard answer.status == 200 else {
                throw LabError("no challenge: \(answer.status) \(answer.text)")
            }
            let signed = try devices[index % devices.count].sign(
                method: "POST", path: path, challenge: answer.text)
            var text = "POST \(path) HTTP/1.1\r\nHost: lab\r\nContent-Length: 0\r\n"
            for field in signed.headers { text += "\(field.name): \(field.value)\r\n" }
            return Array((text + "\r\n").utf8)
        }
    }
}
