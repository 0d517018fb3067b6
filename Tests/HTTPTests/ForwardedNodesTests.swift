import HTTP
import Testing

@Suite("Forwarded")
struct ForwardedNodesTests {}

extension ForwardedNodesTests {
    private func nodes(_ value: String) -> [String?]? {
        ForwardedNodes.parse(Array(value.utf8))?.map { node in
            node.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    @Test(
        "names a node for each element",
        arguments: [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", ["192.0.2.60"]),
            (#"For="[2001:db8:cafe::17]:4711""#, ["[2001:db8:cafe::17]:4711"]),
            ("for=192.0.2.43, for=198.51.100.17", ["192.0.2.43", "198.51.100.17"]),
            (#"for="_gazonk""#, ["_gazonk"]),
            (#"for="a\"b\\c,d;e""#, [#"a"b\c,d;e"#]),
            ("proto=https;for=a,by=b", ["a", nil]),
            (" , for=a ,, for=b , ", ["a", "b"]),
            ("for=a;;proto=b;", ["a"]),
            ("for=a ; proto=b", ["a"]),
            (#"secret="for=x, for=y";for=z"#, ["z"]),
        ] as [(String, [String?])])
    func read(value: String, expected: [String?]) {
        #expect(nodes(value) == expected)
    }

    @Test(
        "is taken whole or not at all",
        arguments: [
            "", " ", ",", "for", "for=", "=a", "for =a", "for= a", "for=a for=b", "for=a;for=b",
            "for=a;FOR=a", "proto=a;for=b;proto=a", #"for="a"#, #"for="a\"#, #"for="a"b"#,
            "for=a:80", "for=[::1]", "for=a,for", "192.0.2.1", "for=a b", "for\t=a",
            "for=\"\u{1}\"", "for=\"\\\u{1}\"", "for=\"a\u{7F}\"", "for=\u{E9}",
        ])
    func malformed(value: String) {
        #expect(nodes(value) == nil)
        #expect(ForwardedNodes.canonical(Array(value.utf8)) == nil)
    }

    @Test(
        "is continued without what its grammar has no place for",
        arguments: [
            ("for=192.0.2.43, for=198.51.100.17", "for=192.0.2.43, for=198.51.100.17"),
            ("for=a,for=b", "for=a, for=b"), (" , for=a ,, for=b , ", "for=a, for=b"),
            ("for=a ; proto=b\t,by=c", "for=a;proto=b, by=c"), (";", ";"), ("for=a;;", "for=a;;"),
            (#"for=" a\" ; , b";by=" ""#, #"for=" a\" ; , b";by=" ""#),
            ("for=\"a\tb\u{E9}\"", "for=\"a\tb\u{E9}\""),
        ])
    func canonical(value: String, expected: String) {
        let text = ForwardedNodes.canonical(Array(value.utf8))
        #expect(text.map { String(decoding: $0, as: UTF8.self) } == expected)
    }

    @Test(
        "has no more parameters in an element than anybody knows, and as many elements as it likes")
    func parameterCount() {
        let known = (0..<15).map { "p\($0)=x;" }.joined() + "for=a"
        #expect(nodes(known) == ["a"])
        #expect(nodes(known + ";q=x") == nil)
        let many = [String](repeating: known, count: 100).joined(separator: ",")
        #expect(nodes(many)?.count == 100)
    }
}
