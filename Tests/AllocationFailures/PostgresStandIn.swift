/// As much of PostgreSQL as libpq needs to connect and to be answered (chapter "Frontend/Backend
/// Protocol" of its documentation): everything but COMMIT is answered with the same row.
struct PostgresStandIn {
    let connection: Int32

    static let cell = (0..<9000).map { UInt8(truncatingIfNeeded: $0) }

    func serve() {
        var received: [UInt8] = []
        var hasStarted = false
        var isCommit = false
        while true {
            let headCount = hasStarted ? 5 : 4
            while received.count < headCount || received.count < Self.length(received, hasStarted) {
                let bytes = LocalServer.read(connection)
                if bytes.isEmpty { return }
                received += bytes
            }
            let message = Array(received.prefix(Self.length(received, hasStarted)))
            received.removeFirst(message.count)
            guard hasStarted else {
                hasStarted = true
                LocalServer.write(connection, Self.welcome)
                continue
            }
            if message[0] == UInt8(ascii: "X") { return }
            // Behind the statement's name, which has no byte but its end.
            if message[0] == UInt8(ascii: "P") {
                isCommit = message.dropFirst(6).starts(with: "COMMIT".utf8)
            }
            LocalServer.write(connection, Self.answer(to: message[0], isCommit: isCommit))
        }
    }

    /// The length of the first message, its kind included.
    private static func length(_ bytes: [UInt8], _ hasKind: Bool) -> Int {
        let start = hasKind ? 1 : 0
        let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        return start + length
    }

    private static let welcome =
        message("R", word(0)) + message("S", text("server_version") + text("15.0"))
        + message("S", text("client_encoding") + text("UTF8")) + message("Z", [0x49])

    private static func answer(to kind: UInt8, isCommit: Bool) -> [UInt8] {
        switch Unicode.Scalar(kind) {
        case "P": return message("1", [])
        case "B": return message("2", [])
        case "D" where isCommit: return message("n", [])
        case "D":
            // Name, table, column, type (bytea), its size and modifier, and its form (binary).
            let column = word(0) + [0, 0] + word(17) + [0xFF, 0xFF] + word(-1) + [0, 1]
            return message("T", [0, 2] + text("first") + column + text("second") + column)
        case "E" where isCommit: return message("C", text("COMMIT"))
        case "E":
            return message("D", [0, 2] + word(cell.count) + cell + word(-1))
                + message("C", text("SELECT 1"))
        case "S": return message("Z", [0x49])
        default: return []
        }
    }

    private static func message(_ kind: Unicode.Scalar, _ content: [UInt8]) -> [UInt8] {
        [UInt8(ascii: kind)] + word(content.count + 4) + content
    }

    private static func word(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }
}
