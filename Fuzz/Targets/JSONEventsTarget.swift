import JSON

extension FuzzTarget {
    /// An upstream's stream of events. However it is cut the same numbers are found; and they are
    /// those that are found where the lines of each event are gathered first.
    static let jsonEvents = FuzzTarget("json-events", byteCountMax: 1024) { bytes in
        let whole = found(in: bytes, cutAt: [bytes.count])
        for cut in Cuts.all(of: bytes) {
            try FuzzFinding.requireEqual(
                found(in: bytes, cutAt: cut), whole, "cut at \(cut) other numbers are found")
        }
        try FuzzFinding.requireEqual(gathered(bytes), whole, "gathered lines have others")
    }

    private static let pointers = ["/n", "/a/b"].compactMap { JSONPointer($0) }

    private static func found(in bytes: [UInt8], cutAt ends: [Int]) -> [JSONNumber?] {
        var scanner = JSONEventScanner(pointers)
        for piece in Cuts.pieces(endingAt: ends) { scanner.feed(bytes.span.extracting(piece)) }
        return scanner.finish()
    }

    private static func gathered(_ bytes: [UInt8]) -> [JSONNumber?] {
        var numbers = [JSONNumber?](repeating: nil, count: pointers.count)
        var data: [[UInt8]] = []
        for line in lines(of: bytes) + [[]] {
            if line.isEmpty {
                let text = Array(data.joined(separator: [0x0A]))
                data = []
                let search = JSONScanner.Search(pointers: pointers, stringByteCountMax: 0)
                var scanner = JSONScanner(search, depthMax: JSONScanner.depthLimit)
                scanner.feed(text.span)
                guard let members = try? scanner.finish().members else { continue }
                for (index, member) in members.enumerated() {
                    if case .number(let number) = member { numbers[index] = number }
                }
                continue
            }
            let colon = line.firstIndex(of: 0x3A) ?? line.endIndex
            guard line[..<colon] == Array("data".utf8)[...] else { continue }
            let value = line[colon...].dropFirst()
            data.append(Array(value.first == 0x20 ? value.dropFirst() : value))
        }
        return numbers
    }

    private static func lines(of bytes: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = [[]]
        var isAfterReturn = false
        for byte in bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...] {
            switch byte {
            case 0x0A where isAfterReturn: break
            case 0x0A, 0x0D: lines.append([])
            default: lines[lines.count - 1].append(byte)
            }
            isAfterReturn = byte == 0x0D
        }
        return lines
    }
}
