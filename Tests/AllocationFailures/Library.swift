import CImports

/// A library of C whose memory passes through ``Starvation``.
enum Library: String, CaseIterable {
    case openSSL = "libcrypto.so"
    case curl = "libcurl"
    case hiredis = "libhiredis"
    case jansson = "libjansson"
    case libevent = "libevent_core"
    case libpq = "libpq"
    case libyaml = "libyaml"
    case nghttp2 = "libnghttp2"
    case sqlite = "libsqlite3"

    nonisolated(unsafe) private static var extents: [(library: Library, range: Range<UInt>)] = []

    /// Replaces what the libraries import of the C library's allocator. OpenSSL has a door of its
    /// own (``Starvation/install()``).
    static func replaceAllocators() {
        for library in allCases where library != .openSSL {
            var extent = sallyport_import_extent()
            // An allocation and a release are the least that a library has.
            precondition(
                sallyport_import_replace(library.rawValue, &extent) >= 2,
                "\(library.rawValue) does not import an allocator")
            extents.append((library, extent.start..<extent.end))
        }
    }

    /// The library whose code has the address, and how far into its file that is.
    static func holding(_ address: UnsafeRawPointer?) -> (library: Library, offset: UInt)? {
        let address = UInt(bitPattern: address)
        return extents.first { $0.range.contains(address) }
            .map { ($0.library, address - $0.range.lowerBound) }
    }
}

/// Who asked for memory.
enum Site: Hashable, CustomStringConvertible {
    /// A line of OpenSSL.
    case line(file: UnsafePointer<CChar>?, number: Int32)
    /// A place in the code of another library.
    case place(UnsafeRawPointer?)

    var library: Library? {
        switch self {
        case .line: .openSSL
        case .place(let address): Library.holding(address)?.library
        }
    }

    var description: String {
        switch self {
        case .line(let file, let number): "\(file.map { String(cString: $0) } ?? "?"):\(number)"
        case .place(let address):
            Library.holding(address).map {
                "\($0.library.rawValue)+0x\(String($0.offset, radix: 16))"
            } ?? "?"
        }
    }
}
