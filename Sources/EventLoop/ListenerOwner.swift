import Bytes

/// The process that listens at a TCP address, as the kernel's tables tell (proc(5)).
public enum ListenerOwner {
    /// The first one that this user may look at and that keeps others from binding `address`.
    public static func find(at address: SocketAddress) -> NamedProcess? {
        let sockets = Set(inodes(at: address).map { "socket:[\($0)]" })
        guard !sockets.isEmpty, let names = try? File.namesBeginning("/proc/") else { return nil }
        for process in names {
            guard let id = Int32(process.dropFirst("/proc/".count)) else { continue }
            let descriptors = (try? File.namesBeginning(process + "/fd/")) ?? []
            guard
                descriptors.contains(where: { File.linkTarget($0).map(sockets.contains) ?? false })
            else { continue }
            return NamedProcess(processID: id)
        }
        return nil
    }

    /// The inodes of sockets that listen at the address, or at all addresses of its port.
    private static func inodes(at address: SocketAddress) -> [Substring] {
        guard let port = address.port else { return [] }
        let wanted = tableForm(address.ipBytes)
        let isAny = address.ipBytes.allSatisfy { $0 == 0 }
        let path = address.ipBytes.count == 4 ? "/proc/net/tcp" : "/proc/net/tcp6"
        guard let table = try? File.read(path, byteCountMax: 64 << 20) else { return [] }
        return String(decoding: table, as: UTF8.self).split(separator: "\n").dropFirst()
            .compactMap { line in
                let columns = line.split(separator: " ")
                guard columns.count > 9, columns[3] == "0A" else { return nil }
                let local = columns[1].split(separator: ":")
                guard local.count == 2, UInt16(local[1], radix: 16) == port else { return nil }
                let isMatch = isAny || local[0] == wanted || local[0].allSatisfy { $0 == "0" }
                return isMatch ? columns[9] : nil
            }
    }

    /// An address in the form of the kernel's table, which prints each four bytes as a number of
    /// this machine.
    private static func tableForm(_ bytes: [UInt8]) -> String {
        stride(from: 0, to: bytes.count, by: 4).map { start in
            let word = bytes[start..<start + 4].enumerated().reduce(UInt32(0)) { word, byte in
                word | UInt32(byte.element) << UInt32(8 * byte.offset)
            }
            let text = String(UInt32(littleEndian: word), radix: 16, uppercase: true)
            return String(repeating: "0", count: 8 - text.count) + text
        }.joined()
    }
}
