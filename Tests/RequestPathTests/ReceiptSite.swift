import AppAttestTesting
import Attestation
import Foundation
import GatewayTesting
import JSON
import Testing

/// What tests of renewals have: a stand-in for Apple, a gateway that asks it, and the means to see
/// what became of a receipt.
protocol ReceiptSite {
    var apple: AppleServer { get }
    var site: FaultSite { get }
}

extension ReceiptSite {
    func enrol(
        at gateway: GatewayProcess, receipt: ReceiptForm = .genuine
    ) throws -> SimulatedDevice {
        let device = try site.device()
        let body = try FaultSite.attestation(
            device, challenge: try gateway.challenge("/attest/challenge"), by: TestApple.shared,
            receipt: receipt)
        let answer = try gateway.exchange("POST", "/attest/verify", body: body)
        #expect(answer.status == 200, "\(answer.bodyText)")
        return device
    }

    /// `keys show`.
    func shown(_ device: SimulatedDevice, _ gateway: GatewayProcess) throws -> JSONValue {
        let outcome = try keys("show", [device.keyID.base64], gateway)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        return try JSONValue.parse(outcome.standardOutput)
    }

    func state(
        _ member: String, of device: SimulatedDevice, _ gateway: GatewayProcess
    ) throws -> String? {
        try shown(device, gateway)["receipt_state"]?[member]?.stringValue
    }

    /// False after ``ChildProcess/patience``.
    func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
        let limit = ChildProcess.deadline
        while try !condition() {
            if Date() > limit { return false }
            _ = poll(nil, 0, 20)
        }
        return true
    }

    func renewals(_ outcome: String, _ gateway: GatewayProcess) throws -> Double {
        try gateway.metric("sallyport_receipt_renewals_total{outcome=\"\(outcome)\"}") ?? -1
    }

    /// Until the registry has it, which is after it was counted.
    func wait(for outcome: String, of device: SimulatedDevice, _ gateway: GatewayProcess) throws {
        let isThere = try eventually {
            try renewals(outcome, gateway) > 0
                && state("last_outcome", of: device, gateway) == outcome
        }
        #expect(isThere, "\(outcome): \(String(describing: try? shown(device, gateway)))")
    }

    func keys(
        _ action: String, _ words: [String], _ gateway: GatewayProcess
    ) throws -> ChildProcess.Outcome {
        try BuiltProgram.run(["keys", action, "-c", gateway.configurationPath] + words)
    }
}
