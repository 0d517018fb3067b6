import JWT

extension FuzzTarget {
    /// An issuer's document of keys. Whatever it holds, a set has keys, no more than the document
    /// could list, and reads the same again.
    static let keySet = FuzzTarget("key-set", byteCountMax: 4096) { bytes in
        guard let set = try? JSONWebKeySet(parsing: bytes.span) else { return }
        let tally = set.tally(for: Set(TokenAlgorithm.allCases))
        try FuzzFinding.require(
            tally.usedCount > 0
                && tally.usedCount + tally.leftOutCount <= JSONWebKeySet.keyCountMax,
            "a set of keys: \(tally.text)")
        let again = (try? JSONWebKeySet(parsing: bytes.span))?
            .tally(for: Set(TokenAlgorithm.allCases))
        try FuzzFinding.requireEqual(again?.text, tally.text, "read again it has other keys")
    }

    /// A token of another issuer. No input is signed with these keys, so none is valid.
    static let foreignToken = FuzzTarget("foreign-token", byteCountMax: 4096) { bytes in
        let verifier = TokenVerifier(
            issuer: nil, audiences: [], algorithms: Set(TokenAlgorithm.allCases))
        for keys in keys {
            let verified = try? verifier.verify(bytes.span, keys: keys, at: 0)
            try FuzzFinding.require(verified == nil, "a forged token is valid")
        }
    }

    /// A key of each kind whose private half is nowhere, and a secret.
    private static let keys: [TokenKeys] = {
        let document = #"""
            {"keys":[
            {"kty":"EC","crv":"P-256","kid":"e","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"},
            {"kty":"OKP","crv":"Ed25519","kid":"d",
            "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
            """#
        let text = Array(document.utf8)
        guard let set = try? JSONWebKeySet(parsing: text.span) else { return [] }
        return [.published(set)]
    }()
}
