import HTTP
import Judgement
import Policy

extension RequestIntake {
    /// Refuses a request that has passed this gateway before, because it would come again and
    /// again.
    func refuseLoop() throws(Refusal) {
        guard state.head.has(.via) else { return }
        let bytes = headBytes.span
        for field in state.head.fields where field.known == .via {
            guard !Via.names(services.hub.viaName, in: bytes.extracting(field.value)) else {
                throw Refusal(
                    .loopDetected,
                    explanation: "The request has been through this gateway before.")
            }
        }
    }
}
