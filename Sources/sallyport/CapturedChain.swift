import AndroidAttestation
import Attestation
import Bytes
import Crypto
import EventLoop
import JSON
import Settings

/// The chain of an Android key in a captured enrolment.
struct CapturedChain {
    /// The body of the enrolment.
    let document: JSONValue
    /// The time at which the gateway judged it, in seconds since 1970.
    let seconds: Int64
    let settings: Settings

    /// The explanation by what the apps demand, for both spellings of the challenge.
    var explanations: [Explanation] {
        let apps = settings.apps.filter { $0.platform == .android }
        guard !apps.isEmpty, case .array(let texts)? = document["chain"],
            let challenge = document["challenge"]?.stringValue
        else { return [] }
        let chain = texts.compactMap { $0.stringValue.flatMap { Base64.decode($0) } }
        let text = Array(challenge.utf8)
        let extra = settings.trust.androidRoots.compactMap { der in
            (try? Certificate(der: der)).flatMap { try? AndroidRoot($0) }
        }
        return [text, Base64.decode(text.span)].compactMap(\.self).map { challenge in
            var expected = AndroidExpectations(at: seconds)
            expected.challenge = challenge
            expected.keyID = document["key_id"]?.stringValue.flatMap(KeyID.init(base64:))
            expected.apps = apps
            expected.roots = extra.isEmpty ? [] : AndroidRoots.published + extra
            expected.clockSkewSeconds = settings.trust.clockSkew.components.seconds
            return .androidAttestation(chain, expecting: expected)
        }
    }
}
