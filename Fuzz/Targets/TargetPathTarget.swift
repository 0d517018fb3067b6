import Bytes
import HTTP

extension FuzzTarget {
    /// A normal form is its own normal form, holds none of the spellings that it should have
    /// removed, and does not depend on what else is allowed. The first byte says what is.
    static let targetPath = FuzzTarget("target-path", byteCountMax: 512) { input in
        guard let first = input.first else { return }
        let allowed = TargetAllowances(rawValue: first & 0x3F)
        let target = Array(input.dropFirst())
        guard let normal = normalForm(of: target, allowing: allowed) else {
            try FuzzFinding.require(
                normalForm(of: target, allowing: []) == nil, "refused only where more is allowed")
            return
        }
        try FuzzFinding.require(normal.first == UInt8(ascii: "/"), "no path: \(shown(normal))")
        try FuzzFinding.requireEqual(
            normalForm(of: normal, allowing: allowed.intersection(.encodedControl)), normal,
            "not its own normal form: \(shown(normal))")
        try FuzzFinding.requireEqual(
            normalForm(of: target, allowing: everything), normal,
            "another form where everything is allowed: \(shown(normal))")
        try checkSpelling(normal)
        if let pattern = try? TargetPath.normalize(pattern: target) {
            try FuzzFinding.requireEqual(
                pattern, normal, "a pattern has another form: \(shown(normal))")
        }
    }

    private static let everything = TargetAllowances(rawValue: 0x3F)

    private static func shown(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func normalForm(
        of target: [UInt8], allowing: TargetAllowances
    ) -> [UInt8]? {
        var scratch: [UInt8] = []
        switch TargetPath.normalize(target.span, allowing: allowing, into: &scratch) {
        case .refused: return nil
        case .asReceived(let pathCount): return Array(target[..<pathCount])
        case .normalized(let pathCount, _): return Array(scratch[..<pathCount])
        }
    }

    private static func checkSpelling(_ normal: [UInt8]) throws(FuzzFinding) {
        for byte in "?#;\\".utf8 {
            try FuzzFinding.require(!normal.contains(byte), "not plain: \(shown(normal))")
        }
        let segments = normal.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, segment) in segments.enumerated() {
            try FuzzFinding.require(
                !segment.isEmpty || index == segments.count - 1, "empty: \(shown(normal))")
            try FuzzFinding.require(
                segment != Array(".".utf8)[...] && segment != Array("..".utf8)[...],
                "a dot segment: \(shown(normal))")
        }
        for (index, byte) in normal.enumerated() where byte == UInt8(ascii: "%") {
            guard index + 2 < normal.count, let high = Hex.value(normal[index + 1]),
                let low = Hex.value(normal[index + 2])
            else { throw FuzzFinding("half an encoding: \(shown(normal))") }
            let isPlain = "/.~-_".utf8.contains(high << 4 | low)
            try FuzzFinding.require(!isPlain, "encoded without need: \(shown(normal))")
        }
    }
}
