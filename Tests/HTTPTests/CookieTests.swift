import HTTP
import Testing

@Suite("Cookies")
struct CookieTests {}

extension CookieTests {
    private func values(of name: String, in field: String) -> [String] {
        let bytes = Array(field.utf8)
        var values: [String] = []
        var offset = 0
        while let range = Cookie.nextValue(named: Array(name.utf8), in: bytes.span, after: &offset)
        {
            values.append(String(decoding: bytes[range], as: UTF8.self))
        }
        return values
    }

    @Test(
        "have the values that follow their names, wherever they stand",
        arguments: [
            ("s=1", ["1"]), ("a=0; s=1; b=2", ["1"]), ("s=1;s=2", ["1", "2"]),
            ("s=", [""]), ("s", []), ("", []), (";;; ;", []), ("S=1", []), ("ss=1; as=2", []),
            ("a=s=1", []), (" \t s=1 \t", ["1"]), ("s=a=b; c", ["a=b"]), ("s=\"x\"", ["\"x\""]),
            ("s =1", ["1"]), ("s\t= 1 ;b", ["1"]), ("a=1, s=2; b", ["2"]), ("s = ", [""]),
            ("s=a,s=b;s=c", ["a,s=b", "b", "c"]), ("s = ; s=1", ["", "1"]), ("s=,", [","]),
        ])
    func values(field: String, expected: [String]) {
        #expect(values(of: "s", in: field) == expected)
    }
}
