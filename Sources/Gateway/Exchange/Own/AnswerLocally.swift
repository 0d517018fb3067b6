import Judgement
import Settings

extension EndpointDesk {
    /// Does what the request asks of an endpoint or of the admin listener. It reaches no upstream.
    func answerLocally() throws(Refusal) -> Step {
        if adminDesk.administration != nil { return try adminDesk.administer() }
        return try adminDesk.inquiry == nil ? answerEndpoint() : adminDesk.readInquiry()
    }
}
