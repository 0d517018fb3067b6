/// The certificates for each server name (RFC 6066 section 3): for each name at most one of each
/// key kind, the first in the configuration. An exact name comes before a wildcard, which stands
/// for one label (RFC 9525 section 6.3).
struct TLSNameTable {
    /// Every distinct choice, as indices into the certificates. The first is for clients that name
    /// no server, or one without a certificate.
    private(set) var choices: [[Int]] = []
    private var exact: [String: Int] = [:]
    /// The certificates of wildcard names, by the part after the `*`, such as `.example.com`.
    private var wildcards: [String: Int] = [:]

    init(_ certificates: [(names: [String], kind: TLSIdentity.KeyKind)]) {
        let names = certificates.flatMap(\.names)
        let isFirstNamed = !(certificates.first?.names.isEmpty ?? true)
        let first = isFirstNamed ? Self.choice(for: names[0], certificates) : [0]
        choices = [first]
        for name in names {
            let index = add(Self.choice(for: name, certificates))
            if name.hasPrefix("*.") {
                wildcards[String(name.dropFirst())] = index
            } else {
                exact[name] = index
            }
        }
    }

    /// The choice for a name in any case of letters; nil if there is no certificate for it.
    func choice(for serverName: String) -> Int? {
        let name = serverName.lowercased()
        if let index = exact[name] { return index }
        guard let dot = name.firstIndex(of: "."), dot != name.startIndex else { return nil }
        return wildcards[String(name[dot...])]
    }

    private mutating func add(_ choice: [Int]) -> Int {
        if let index = choices.firstIndex(of: choice) { return index }
        choices.append(choice)
        return choices.count - 1
    }

    private static func choice(
        for name: String, _ certificates: [(names: [String], kind: TLSIdentity.KeyKind)]
    ) -> [Int] {
        var names = [name]
        if !name.hasPrefix("*."), let dot = name.firstIndex(of: ".") {
            names.append("*" + name[dot...])
        }
        var choice: [Int] = []
        for name in names {
            for (index, certificate) in certificates.enumerated()
            where certificate.names.contains(name)
                && !choice.contains(where: { certificates[$0].kind == certificate.kind })
            {
                choice.append(index)
            }
        }
        return choice.sorted()
    }
}
