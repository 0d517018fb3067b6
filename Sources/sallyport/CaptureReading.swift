import AndroidAttestation
import AppAttest
import Attestation
import Bytes
import Crypto
import EventLoop
import Gateway
import JSON
import Settings

/// The capture of a request, taken apart.
struct CaptureReading {
    let path: String
    private let members: JSONValue
    let explanation: Explanation?

    /// Nil if there is no capture of the request. Says so if that cannot be known.
    init?(requestID: String, _ settings: Settings) {
        guard let directory = settings.capture?.directory else { return nil }
        do {
            let suffix = CaptureFile.suffix(requestID: requestID)
            let names = try File.namesBeginning(directory + "/").filter { $0.hasSuffix(suffix) }
            guard let path = names.max() else { return nil }
            let bytes = try File.read(path, byteCountMax: CaptureFile.byteCountMax)
            let members = try? JSONValue.parse(bytes.span, byteCountMax: bytes.count, depthMax: 4)
            guard let members, members["request_id"]?.stringValue == requestID else {
                Console.complain("sallyport: \(path): is not a file of capture")
                return nil
            }
            self.path = path
            self.members = members
            explanation = CapturedObject(members, settings).explanation
        } catch {
            Console.complain("sallyport: capture: \(error)")
            return nil
        }
    }

    /// True if `capture` keeps such requests, unless something prevents it.
    static func isKept(_ request: FoundRequest) -> Bool {
        let reasons = [
            "attestation_invalid", "assertion_malformed", "assertion_invalid", "request_mismatch",
            "body_mismatch",
        ]
        return request.text("reason").map(reasons.contains) == true
            && request.text("decision").map { ["refused", "observed"].contains($0) } != false
    }

    /// The reasons why a request may have no file.
    static let reasonsToMiss =
        "capture keeps at most ten a second, removes the oldest beyond size_max, and keeps nothing "
        + "while others may open its directory; sallyport_captures_total counts what it skipped"

    /// The request by its file, which suffices if its log line is gone.
    var foundRequest: FoundRequest { FoundRequest(members: line, source: path) }

    /// The members in the form of an access line.
    private var line: JSONValue {
        guard case .object(let members) = members else { return .null }
        var line = members.filter {
            ["time", "request_id", "reason", "detail", "route", "app", "environment"]
                .contains($0.key)
        }
        if let method = decoded("method") { line["method"] = .string(method) }
        return .object(line)
    }

    /// The installation of the key that the request claims.
    var installation: String? { members["installation"]?.stringValue }

    /// The request line that was compared with what was signed.
    var requestLine: String? {
        guard let method = decoded("method"), let target = decoded("target") else { return nil }
        return "\(method) \(target)"
    }

    private func decoded(_ name: String) -> String? {
        members[name]?.stringValue.flatMap { Base64.decode(Array($0.utf8).span) }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The object in a file of `capture`, with the gateway's knowledge at the time of its judgement.
private struct CapturedObject {
    private let members: JSONValue
    private let settings: Settings

    init(_ members: JSONValue, _ settings: Settings) {
        self.members = members
        self.settings = settings
    }

    /// The explanation by the best fitting expectations, out of all that the app may have meant,
    /// and of the gateway's apps and roots.
    var explanation: Explanation? {
        let candidates =
            switch members["kind"]?.stringValue {
            case "attestation": attestations
            case "assertion": assertions
            default: [] as [Explanation]
            }
        return candidates.min { $0.unmetCount < $1.unmetCount }
    }

    private var attestations: [Explanation] {
        guard let body = bytes("request_body"),
            let document = try? JSONValue.parse(
                body.span, byteCountMax: body.count, depthMax: 8)
        else { return [] }
        if document["platform"]?.stringValue == PlatformName.android.text {
            return CapturedChain(
                document: document, seconds: start.seconds, settings: settings
            ).explanations
        }
        guard let attestation = document["attestation"]?.stringValue,
            let challenge = document["challenge"]?.stringValue
        else { return [] }
        let object = ExplainInput.object(Array(attestation.utf8))
        let text = Array(challenge.utf8)
        let challenges = [text, Base64.decode(text.span)].compactMap(\.self)
        return challenges.flatMap { challenge in
            expectations.map { expected in
                var expected = expected
                expected.clientData = challenge
                expected.keyID = document["key_id"]?.stringValue.flatMap(KeyID.init(base64:))
                return Explanation.attestation(object, expecting: expected)
            }
        }
    }

    private var assertions: [Explanation] {
        guard let assertion = bytes("assertion"), !isOfAndroid else { return [] }
        var expected = start
        expected.appID = members["app"]?.stringValue
        expected.publicKey = bytes("public_key").flatMap { P256PublicKey(x963: $0.span) }
        expected.keyID = bytes("key_id").flatMap { KeyID(base64: $0.span) }
        if let hash = bytes("body_sha256") {
            expected.clientDataHash = hash
        } else {
            expected.clientData = bytes("client_data").flatMap { Base64.decode($0.span) }
        }
        return [Explanation.assertion(ExplainInput.object(assertion), expecting: expected)]
    }

    /// True if the key's app is one for Android, whose evidence is a bare signature.
    private var isOfAndroid: Bool {
        settings.apps.contains { $0.id == members["app"]?.stringValue && $0.platform == .android }
    }

    /// The expectations for every app, with Apple's roots and with those of the configuration.
    private var expectations: [Expectations] {
        let extra = settings.trust.extraRoots.compactMap { try? Certificate(der: $0) }
        return settings.apps.filter { $0.platform == .apple }.flatMap { app in
            (extra.isEmpty ? [[]] : [[], extra]).map { roots in
                var expected = start
                expected.appID = app.id
                expected.environment = app.environments.count == 1 ? app.environments.first : nil
                expected.roots = roots
                return expected
            }
        }
    }

    /// Expectations that every object shares: judged at the time at which the gateway judged it.
    private var start: Expectations {
        let time = members["time"]?.stringValue.flatMap { RFC3339.parse($0) }
        var expected = Expectations(at: time?.seconds ?? WallClock.now().seconds)
        expected.clockSkewSeconds = settings.trust.clockSkew.components.seconds
        return expected
    }

    private func bytes(_ name: String) -> [UInt8]? {
        members[name]?.stringValue.flatMap { Base64.decode(Array($0.utf8).span) }
    }
}

extension Explanation {
    /// The number of steps that speak against the object. The fewer, the better the expectations
    /// fit.
    fileprivate var unmetCount: Int {
        steps.count { $0.outcome == .failed } * 100 + steps.count { $0.outcome == .skipped }
    }
}
