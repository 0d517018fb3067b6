import Bytes
import HTTP
import JSON
import Policy
import Settings

/// The answers to what an app may ask before its first request: `/.well-known/app-attest` (RFC
/// 8615).
///
/// They hold what a client has to know and could find out by trying: names of headers, paths of
/// endpoints, lifetimes, and the forms of proof that routes of the host accept. They never say
/// which routes those are, whether they enforce, for which share of keys, which apps and versions
/// they let in, or any limit: that would show an attacker the way to the weakest route.
struct ClientDiscovery: Sendable {
    /// The version of the format, raised if a member is removed or gets another meaning.
    static let format: Int64 = 1

    /// The different documents.
    private let documents: [[UInt8]]
    /// The index of the document for each class of hosts.
    private let documentOfClass: [Int]

    init(_ settings: Settings, _ routes: RouteTable, _ paths: EndpointPaths) {
        var everywhere: [ClientShape] = []
        var ofPattern: [HostPattern: [ClientShape]] = [:]
        for route in settings.routes where route.attest.mode != .off {
            let shape = ClientShape(route.attest)
            if route.hosts.isEmpty { everywhere.append(shape) }
            for pattern in route.hosts { ofPattern[pattern, default: []].append(shape) }
        }
        var documents: [[UInt8]] = []
        var places: [[ClientShape]: Int] = [:]
        documentOfClass = (0..<routes.hostClassCount).map { hostClass in
            let patterns = routes.hostPatterns(of: hostClass)
            let shapes = Set(everywhere + patterns.flatMap { ofPattern[$0] ?? [] }).sorted()
            if let place = places[shapes] { return place }
            places[shapes] = documents.count
            documents.append(Self.document(settings, paths, shapes))
            return documents.count - 1
        }
        self.documents = documents
    }

    /// The document for a class of hosts, as JSON.
    func document(ofHostClass hostClass: Int) -> [UInt8] { documents[documentOfClass[hostClass]] }

    private static func document(
        _ settings: Settings, _ paths: EndpointPaths, _ shapes: [ClientShape]
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("format", int: format)
        writer.member("base", string: settings.endpoints.base)
        writer.beginObject("endpoints")
        for endpoint in AppEndpoint.allCases {
            guard let name = endpoint.discoveryName, let path = paths.path(of: endpoint) else {
                continue
            }
            writer.member(name, bytes: path.span)
        }
        writer.endObject()
        writer.beginObject("headers")
        let names = settings.headers
        writer.member("assertion", string: names.assertion)
        writer.member("client_data", string: names.clientData)
        writer.member("key_id", string: names.keyID)
        writer.member("token", string: names.token)
        writer.member("device_check", string: names.deviceCheck)
        writer.member("challenge", constant: "x-app-attest-challenge")
        writer.member("action", constant: "x-app-attest-action")
        writer.member("failure", constant: "x-app-attest-failure")
        for proof in settings.proofs where shapes.contains(where: { $0.takes(proof.name) }) {
            writer.member(
                named: "proof:\(proof.name)", value: .string(proof.header.lowercased()))
        }
        writer.endObject()
        writer.beginObject("lifetimes")
        let challenge = settings.challenge
        writer.member("assertion_challenge", int: challenge.timeToLive.components.seconds)
        writer.member(
            "attestation_challenge", int: challenge.attestationTimeToLive.components.seconds)
        if paths.path(of: .assertToken) != nil {
            writer.member(
                "session_token", int: settings.sessionTokens.timeToLive.components.seconds)
        }
        writer.endObject()
        if paths.path(of: .assertToken) != nil, let name = settings.sessionTokens.boundHeader {
            writer.member("session_token_bound_to", string: name)
        }
        writer.member("enrolment_device_check", bool: settings.signals.deviceBits != nil)
        writer.beginArray("shapes")
        for shape in shapes { shape.write(&writer) }
        writer.endArray()
        writer.endObject()
        return writer.finish().readable.array
    }
}

/// A form of proof that some route accepts, as far as it concerns the client.
private struct ClientShape: Hashable, Comparable {
    private let accept: AcceptedProofs
    /// The names of the issuers whose tokens it accepts.
    private let issuers: [String]
    private let clientData: ClientDataShape
    private let challenge: ChallengeRequirement
    private let replay: ReplayPolicy
    /// The members of the body, in the `body` shape.
    private let challengeMember: String?
    private let keyIDMember: String?

    init(_ policy: RoutePolicy) {
        accept = policy.accept
        issuers = policy.proofs.map(\.name)
        // Without assertions these settings mean nothing.
        let signs = policy.accept.contains(.assertion)
        let isBody = signs && policy.clientData == .body
        clientData = isBody ? .body : .header
        challenge = signs ? policy.challenge : .required
        replay = signs ? policy.replay : .strict
        challengeMember = isBody ? policy.challengeMember : nil
        keyIDMember = isBody ? policy.keyIDMember : nil
    }

    /// Sorts by text, because the order of routes in the configuration is not to be told either.
    static func < (left: ClientShape, right: ClientShape) -> Bool { left.text < right.text }

    private var text: String {
        "\(accept.rawValue) \(clientData) \(challenge) \(replay) \(challengeMember ?? "") "
            + "\(keyIDMember ?? "") \(issuers)"
    }

    func takes(_ issuer: String) -> Bool { issuers.contains(issuer) }

    func write(_ writer: inout JSONWriter) {
        writer.beginObject()
        writer.beginArray("accept")
        let names: [(AcceptedProofs, String)] = [
            (.assertion, "assertion"), (.token, "token"), (.deviceCheck, "device_check"),
            (.developer, "developer"),
        ]
        for (proof, name) in names where accept.contains(proof) { writer.element(string: name) }
        for name in issuers { writer.element(string: "proof:\(name)") }
        writer.endArray()
        if accept.contains(.assertion) {
            writer.member("client_data", string: clientData.rawValue)
            writer.member("challenge", string: challenge.rawValue)
            switch replay {
            case .strict: writer.member("replay", constant: "strict")
            case .window(let size):
                writer.member("replay", constant: "window")
                writer.member("window", int: Int64(size))
            case .durable: writer.member("replay", constant: "durable")
            }
            if let challengeMember {
                writer.member("challenge_member", string: challengeMember)
            }
            if let keyIDMember { writer.member("key_id_member", string: keyIDMember) }
        }
        writer.endObject()
    }
}

extension AppEndpoint {
    /// The endpoint's name in the document; nil for one that is not for apps.
    fileprivate var discoveryName: StaticString? {
        switch self {
        case .attestChallenge: "attestation_challenge"
        case .attestVerify: "attestation"
        case .attestFailure: "failure"
        case .assertChallenge: "assertion_challenge"
        case .assertToken: "session_token"
        case .identityKeys, .discovery: nil
        }
    }
}
