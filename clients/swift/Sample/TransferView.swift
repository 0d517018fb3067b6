import SallyportClient
import SwiftUI

/// One client for the whole app: requests share its key, its challenges and its order.
enum Bank {
    static let url = URL(string: "https://api.example.com")
    static let client = url.map { url in
        // What cannot be proved yet goes without a proof: `whenUnproved` is `.sendUnproved`.
        var configuration = Configuration(gateway: url)
        #if targetEnvironment(simulator)
            configuration.developerToken = ProcessInfo.processInfo.environment["DEVELOPER_TOKEN"]
        #endif
        return AppAttestClient(configuration)
    }
}

/// Sends a signed request and shows what came of it.
struct TransferView: View {
    @State private var outcome = ""

    var body: some View {
        VStack {
            Button("Transfer") { Task { outcome = await transfer() } }
            Text(outcome)
        }
        // A key is enrolled before the first request needs one.
        .task { try? await Bank.client?.enrol() }
    }

    private func transfer() async -> String {
        guard let url = Bank.url, let client = Bank.client else { return "No address." }
        var request = URLRequest(url: url.appendingPathComponent("api/transfer"))
        request.httpMethod = "POST"
        request.httpBody = Data(#"{"amount":1}"#.utf8)
        do {
            let (_, response) = try await client.send(request)
            return response.advisesUpdate ? "Done. Please update the app." : "Done."
        } catch ClientError.refused(let refusal) where refusal.action == .updateApp {
            return "Please update the app."
        } catch ClientError.refused(let refusal) {
            return "Refused. Tell support \(refusal.requestID ?? refusal.code)."
        } catch ClientError.tryLater(let date) {
            // The route insists on a proof, and there is none yet.
            return "Please try again after \(date.formatted(date: .omitted, time: .shortened))."
        } catch {
            return error.localizedDescription
        }
    }
}
