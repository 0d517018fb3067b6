import CLibevent
import CLinux

extension File {
    /// The places at which users that neither own the file nor are in its group may replace it: the
    /// file itself, and each directory on the way to it, if they may change it. Links are followed
    /// step by step. A place that is missing or cannot be examined is left out.
    public static func placesOpenToChanges(_ path: String) -> [String] {
        places(path).filter(isOpenToChanges)
    }

    /// True if such users may change the file, or the entries of a directory.
    private static func isOpenToChanges(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & 0o002 != 0 else { return false }
        // In a sticky directory users change only their own entries; on a file the bit means
        // nothing.
        return !isDirectory(status) || status.st_mode & 0o1000 == 0
    }

    /// Every directory that the system goes through for `path`, and then the file, without links.
    private static func places(_ path: String) -> [String] {
        var places = ["/"]
        var current = ""
        var linkCount = 0
        let whole = path.hasPrefix("/") ? path : resolved(".") + "/" + path
        // The components that are still to be followed, the next one last.
        var rest = Array(whole.split(separator: "/").reversed())
        while let name = rest.popLast() {
            switch name {
            case ".": continue
            case "..":
                current = String(current[..<(current.lastIndex(of: "/") ?? current.startIndex)])
                continue
            default: break
            }
            let next = "\(current)/\(name)"
            if let target = linkTarget(next) {
                linkCount += 1
                guard linkCount <= linkCountMax else { break }
                if target.hasPrefix("/") { current = "" }
                rest += target.split(separator: "/").reversed()
            } else {
                current = next
                if !places.contains(next) { places.append(next) }
            }
        }
        return places
    }

    /// The most links, as many as the system follows (path_resolution(7)).
    private static let linkCountMax = 40
}
