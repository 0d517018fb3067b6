import Foundation
import GatewayTesting
import JSON
import Testing

@Suite(
    "Receipts of real devices, by the command",
    .enabled(if: Vectors.arePresent && BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct ReceiptCommandTests {}

extension ReceiptCommandTests {
    @Test("get their recorded verdict from explain receipt", arguments: Vectors.receipts)
    func explained(vector: Vector) throws {
        let directory = try ScratchDirectory()
        let path = try directory.write(vector.object + "\n", to: "receipt")
        let outcome = try BuiltProgram.run([
            "explain", "receipt", "--json", "--at", try #require(vector.verifyAt),
            "--app-id", vector.appID, "--key-id", vector.keyID, path,
        ])
        #expect(outcome.status == .exited(vector.isAccepted ? 0 : 1), "\(outcome.standardError)")
        let verdict = try JSONValue.parse(outcome.standardOutput)
        #expect(verdict["verdict"]?.stringValue == (vector.isAccepted ? "valid" : "invalid"))
        guard vector.isAccepted else { return }
        #expect(verdict["fields"]?["type"]?.stringValue == vector.fields?.type)
        #expect(
            verdict["fields"]?["risk_metric"]?.integerValue
                == vector.fields?.riskMetric.flatMap { Int64($0) })
    }
}
