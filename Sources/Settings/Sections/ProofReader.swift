import Bytes
import Crypto
import HTTP
import HTTPSClient
import JWT
import Policy

/// Declares `proofs`.
struct ProofReader {
    /// The section `apple`, whose proxy is used for every request to the Internet.
    let apple: AppleSettings?
    let headers: HeaderNames

    /// RFC 7518 section 3.2 demands at least as many bits as the hash has.
    private static let secretByteCountMin = 32
    /// The secret in use, a new one, and those of other environments. The bound is low, because
    /// each is tried.
    private static let secretCountMax = 4

    var kind: Kind<[ProofSettings]> {
        .named("NAME", .section(form) { section, proof in complete(&section, &proof) }, \.name)
            .unlessEmpty
    }

    private var form: Form<ProofSettings> {
        Form(ProofSettings()) {
            Setting(
                "preset", optional: \.preset, .word,
                "A known issuer. firebase_app_check: needs project. approov: needs secret_file, or "
                    + "jwks.")
            Setting(
                "project", optional: \.project, Self.project,
                "The number of the Firebase project.")
            Setting(
                "issuer", \.issuer, Kind<String>.claim.optional, printed: Self.isPrinted,
                "The claim iss. Required with jwks, except for a preset.")
            Setting(
                "audience", \.audiences, Kind<[String]>.list(.claim).unlessEmpty,
                printed: Self.isPrinted,
                "One of these is in the claim aud. Required with jwks, except for a preset: public "
                    + "keys sign tokens for others, too.")
            Setting(
                "algorithms", \.algorithms,
                Kind<[TokenAlgorithm]>.list(.word, empty: "is empty: no token would be taken")
                    .unlessEmpty, standard: "[RS256]", printed: Self.isPrinted,
                "The algorithms that tokens may be signed by. If left out: RS256; with secret_file "
                    + "HS256, the only one there.")
            keys
            Setting(
                "header", \.header, header.unlessEmpty,
                "The request header with the token. It goes on to the upstream. Required, except "
                    + "for a preset.")
            Setting(
                "tier", \.tier,
                .words([TrustTier.deviceCheck, .token, .foreign].map { ("\($0.name)", $0) }),
                "What such a token is worth, for min_tier and in X-Attest-Tier. Any holder can use "
                    + "it.")
            Setting(
                "subjects", \.subjects,
                Kind<[String]>.list(
                    Self.subject, empty: "is empty: no token would be taken. Left out, any is"
                ).unlessEmpty,
                "Accepted values of the claim sub, such as Firebase's app ids, which metrics then "
                    + "tell apart. If left out, any.")
        }
    }

    /// A claim that metrics can name. They say `any` if subjects are not told apart, and `none` if
    /// no token was valid.
    private static var subject: Kind<String> {
        let form = "1 to 256 printable characters without spaces"
        return Kind<String>(.text(form + ", but any and none"), text: \.self) {
            text throws(Fault) in
            guard text.utf8.count <= 256, text.isVisible else { throw Fault("is not \(form)") }
            guard !["any", "none"].contains(text) else {
                throw Fault(
                    "has another meaning in metrics: any is every subject, none is no valid token")
            }
            return text
        }
    }

    @FormBuilder<ProofSettings>
    private var keys: [Setting<ProofSettings>] {
        Setting(
            "jwks", optional: \.jwks, Self.jwks,
            "The issuer's public keys: an https URL, fetched in the background through the proxy "
                + "of apple, or a file with the same document, which pins them. http only to this "
                + "machine.")
        Setting(
            "ca", optional: \.authoritiesPath, .path,
            "Authorities in PEM for the host of jwks and a proxy that inspects TLS, in place of "
                + "the system's."
        ) { field, proof in
            proof.authorities = field.authorities()
        }
        Setting(
            "secret_file", optional: \.secrets, Self.secretFile,
            "Secrets for HS256, in place of jwks: the base64 of at least 32 bytes on each line, at "
                + "most 4. Each counts, for rotation.")
    }

    // MARK: values

    /// False for the preset that sets these keys itself and does not let them stand beside it.
    private static func isPrinted(_ proof: ProofSettings) -> Bool {
        proof.preset != .firebaseAppCheck
    }

    private static var project: Kind<String> {
        let form = "1 to 20 digits"
        return .text(.text(form), "is not the number of a project: \(form)") {
            (1...20).contains($0.utf8.count) && $0.utf8.allSatisfy(\.isDigit)
        }
    }

    private var header: Kind<String> {
        .header("has a meaning of its own, or is one of the gateway's own headers") { folded in
            !HeaderReader.isReserved(folded) && HeaderEditReader.request.allows(folded)
                && !headers.all.contains { HeaderReader.fold($0) == folded }
        }
    }

    private static var jwks: Kind<ProofSettings.Keys> {
        Kind(.text("https URL or path"), read: jwks) { keys in
            switch keys {
            case .url(let url): .text(url)
            case .file(let path, _), .secrets(let path, _): .text(path)
            }
        }
    }

    private static func jwks(_ field: Field) -> ProofSettings.Keys? {
        guard let text = field.text() else { return nil }
        guard text.value.contains("://") else {
            let ending = mayBeURL(text.value) ? "; if it is a URL, begin with https://" : ""
            return field.file(ending: ending) { path, bytes throws(Fault) in
                do throws(JSONWebKeySetError) {
                    _ = try JSONWebKeySet(parsing: bytes.span)
                } catch {
                    throw Fault("has no set of keys (RFC 7517) that can be used: \(error)")
                }
                return .file(path: path, document: bytes)
            }
        }
        guard let (host, isPlain) = place(text.value) else {
            // The value may hold a password.
            field.error("is not a URL of keys: write https://host/path, without a login")
            return nil
        }
        guard !isPlain || host.isLocal else {
            field.error(
                "\(host) is reached without TLS: an attacker in the network could replace the "
                    + "keys; write https")
            return nil
        }
        return .url(text.value)
    }

    /// Whether a path looks like a URL without a scheme, or with half of one.
    private static func mayBeURL(_ path: String) -> Bool {
        guard let slash = path.firstIndex(of: "/") else { return false }
        let first = path[..<slash].lowercased()
        return first.hasPrefix("http") || (first.contains(".") && !first.hasPrefix("."))
    }

    /// The host of a URL, and whether it is asked without TLS; nil if the text is no URL.
    static func place(_ text: String) -> (host: Endpoint, isPlain: Bool)? {
        for (prefix, port) in [("https://", 443 as UInt16), ("http://", 80)] {
            guard text.hasPrefix(prefix), text.isVisible, text.utf8.count <= 2048,
                !text.utf8.contains(where: { $0.isOne(of: "#@\\") })
            else { continue }
            let place = text.dropFirst(prefix.count).prefix { $0 != "/" && $0 != "?" }
            guard let server = try? URLAuthority.server(place, port: port) else { return nil }
            return (.tcp(host: server.host, port: server.port), prefix == "http://")
        }
        return nil
    }

    private static var secretFile: Kind<ProofSettings.Keys> {
        Kind(.path) { field in
            field.secretFile { path, bytes throws(Fault) in
                .secrets(path: path, secrets: try secrets(bytes))
            }
        } yaml: { keys in
            if case .secrets(let path, _) = keys { .text(path) } else { .absent }
        }
    }

    /// Reads a secret from each line; messages show nothing of the file.
    private static func secrets(_ bytes: [UInt8]) throws(Fault) -> [Secret] {
        let lines = bytes.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        guard (1...secretCountMax).contains(lines.count) else {
            throw Fault("has \(lines.count) secrets: 1 to \(secretCountMax) are needed")
        }
        var secrets: [Secret] = []
        for (index, line) in lines.enumerated() {
            // Made a secret at once, so that it is overwritten even if it is refused.
            guard let secret = Base64.decode(line.span).map(Secret.init) else {
                throw Fault("line \(index + 1) is not base64")
            }
            guard secret.bytes.count >= secretByteCountMin else {
                throw Fault(
                    "line \(index + 1) has a secret of \(secret.bytes.count) bytes: "
                        + "\(secretByteCountMin) are needed")
            }
            secrets.append(secret)
        }
        return secrets
    }

    // MARK: the whole

    private func complete(_ section: inout Section, _ proof: inout ProofSettings) {
        // With a faulty preset, the keys that it sets would be reported as missing.
        guard !section.isFaulty("preset") else { return section.fail() }
        proof.proxy = apple?.proxy ?? .environment
        apply(proof.preset, &section, &proof)
        if proof.algorithms.isEmpty {
            proof.algorithms = proof.secrets == nil ? [.rs256] : [.hs256]
        }
        if proof.header.isEmpty, !section.isFaulty("header") {
            section.error("required key \"header\" is missing")
        }
        checkKeys(&section, &proof)
        if proof.keys == nil || proof.header.isEmpty { section.fail() }
    }

    private func apply(
        _ preset: ProofSettings.Preset?, _ section: inout Section, _ proof: inout ProofSettings
    ) {
        guard preset == .firebaseAppCheck else {
            section.refuse(["project"], "is used with preset: firebase_app_check only")
            if preset == .approov, proof.header.isEmpty {
                proof.header = ProofSettings.approovHeader
            }
            return
        }
        section.refuse(
            ["issuer", "audience", "algorithms", "secret_file"],
            "is what preset: firebase_app_check knows")
        if proof.header.isEmpty { proof.header = ProofSettings.Firebase.header }
        if proof.jwks == nil, !section.isFaulty("jwks") {
            proof.jwks = .url(ProofSettings.Firebase.jwks)
        }
        guard let project = proof.project else {
            if !section.isFaulty("project") {
                section.error("required key \"project\" is missing: the number of the project")
            }
            return section.fail()
        }
        proof.issuer = ProofSettings.Firebase.issuer(project)
        proof.audiences = [ProofSettings.Firebase.audience(project)]
    }

    /// Reports a file whose keys are all for other algorithms, because no token could pass.
    private func checkPinned(_ section: inout Section, _ proof: ProofSettings) {
        guard case .file(let path, let document)? = proof.jwks,
            !section.isFaulty("algorithms"), !proof.algorithms.contains(where: \.isSymmetric),
            let tally = (try? JSONWebKeySet(parsing: document.span))?
                .tally(for: Set(proof.algorithms)),
            tally.usedCount == 0
        else { return }
        let names = proof.algorithms.map(\.rawValue).joined(separator: ", ")
        section.field("jwks")?.error(
            "\(path) has no key for \(names): no token would be taken; \(tally.leftOutText)")
    }

    private func checkKeys(_ section: inout Section, _ proof: inout ProofSettings) {
        let isSymmetric = proof.algorithms.contains(where: \.isSymmetric)
        if proof.secrets != nil {
            section.refuse(["jwks", "ca"], "is of no use beside secret_file")
            if proof.algorithms != [.hs256], !section.isFaulty("algorithms") {
                section.field("algorithms")?.error(
                    "secret_file is for HS256 alone: no key may be taken for one of another kind")
            }
            return
        }
        guard proof.jwks != nil else {
            if !section.isFaulty("jwks"), !section.isFaulty("secret_file") {
                section.error("has no keys: write jwks or secret_file")
            }
            return
        }
        if isSymmetric {
            section.field("algorithms")?.error(
                "HS256 needs secret_file: a public key is no secret to sign with")
        }
        if let url = proof.url, url.hasPrefix("https:") {
            if section.field("ca") == nil {
                proof.authorities = section.place.systemAuthorities()
            }
        } else {
            section.refuse(["ca"], "is used with an https URL in jwks only")
        }
        checkPinned(&section, proof)
        guard proof.preset == nil else { return }
        for (key, isMissing) in [
            ("issuer", proof.issuer == nil), ("audience", proof.audiences.isEmpty),
        ] where isMissing && !section.isFaulty(key) {
            section.error("required key \"\(key)\" is missing: the keys sign for others, too")
        }
    }
}
