import Background
import Bytes
import Crypto
import HTTP
import JWT
import Judgement
import Settings

/// An issuer whose tokens routes accept beside the gateway's, ready for the request path.
final class ForeignIssuer: Sendable {
    private enum Keys: Sendable {
        case fixed(TokenKeys)
        case fetched(IssuerKeys)
    }

    /// The header that holds its tokens, in every spelling.
    let fieldNames: FieldNameSet
    private let verifier: TokenVerifier
    private let keys: Keys

    init(
        _ settings: ProofSettings, clockSkewSeconds: Int64, register: IssuerKeyRegister
    ) throws(ConfigurationFailure) {
        fieldNames = FieldNameSet(exact: [settings.header], prefixes: [])
        verifier = TokenVerifier(
            issuer: settings.issuer, audiences: settings.audiences,
            algorithms: Set(settings.algorithms), subjects: settings.subjects,
            clockSkewSeconds: clockSkewSeconds)
        switch settings.keys {
        case .secrets(_, let secrets)?: keys = .fixed(.secrets(secrets.map { HMACKey($0.bytes) }))
        case .file(let path, let document)?:
            guard let set = try? JSONWebKeySet(parsing: document.span) else {
                throw ConfigurationFailure("proofs.\(settings.name).jwks: \(path) has no keys")
            }
            keys = .fixed(.published(set))
        case .url?, nil:
            guard let place = IssuerKeyRegister.Place(settings) else {
                throw ConfigurationFailure("proofs.\(settings.name): no keys")
            }
            keys = .fetched(register.keys(of: place))
        }
    }

    /// Throws unless `token` is valid. Returns its subject as metrics name it. It is one of the
    /// configuration's subjects, because others may be names of people.
    func verify(_ token: Span<UInt8>, at seconds: Int64) throws(Refusal) -> String {
        do throws(TokenFailure) {
            let verified = try verifier.verify(token, keys: try currentKeys(token), at: seconds)
            return verifier.subjects.isEmpty ? Self.anySubject : verified.subject ?? Self.anySubject
        } catch {
            switch error {
            case .keysMissing: throw Refusal(.storeUnavailable, .proofFailed(error))
            case .keyUnknown: if case .fetched(let fetched) = keys { fetched.miss() }
            default: break
            }
            throw Refusal(.tokenInvalid, .proofFailed(error))
        }
    }

    private func currentKeys(_ token: Span<UInt8>) throws(TokenFailure) -> TokenKeys {
        switch keys {
        case .fixed(let keys): return keys
        case .fetched(let fetched):
            if let current = fetched.current { return .published(current) }
            // Only a text that may be a token waits for keys.
            try verifier.checkForm(token)
            throw .keysMissing
        }
    }

    /// The name that stands for all subjects if they are not told apart.
    private static let anySubject = "any"
}
