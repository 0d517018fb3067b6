import Judgement
import Settings

extension EndpointDesk {
    /// Does what an endpoint or the admin listener was asked for. Nothing of it goes further.
    func answerLocally() throws(Refusal) -> Step {
        if adminDesk.administration != nil { return try adminDesk.administer() }
        return try adminDesk.inquiry == nil ? answerEndpoint() : adminDesk.readInquiry()
    }
}
