import COpenSSL
import Crypto

/// The parts of a context that servers and clients share: versions, ciphers, groups.
enum TLSParameters {
    static func make(
        _ method: OpaquePointer?, minimumVersion: TLSVersion, hasTickets: Bool
    ) throws(TLSError) -> OpaquePointer {
        ErrorQueue.clear()
        guard let context = unsafe SSL_CTX_new(method) else {
            throw TLSError(ErrorQueue.drain("TLS context"))
        }
        unsafe sallyport_tls_harden(context, hasTickets ? 1 : 0)
        guard unsafe sallyport_tls_set_minimum(context, minimumVersion.number) == 1 else {
            unsafe SSL_CTX_free(context)
            throw TLSError(ErrorQueue.drain("TLS \(minimumVersion.rawValue)"))
        }
        return unsafe context
    }

    /// Sets the ciphers of TLS 1.2. OpenSSL ignores unknown names; here they are errors.
    static func setCiphers(_ list: String, in context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        for name in list.split(separator: ":") where !"!-+@".contains(name.first ?? "!") {
            guard unsafe SSL_CTX_set_cipher_list(context, String(name)) == 1 else {
                ErrorQueue.clear()
                throw TLSError("OpenSSL has no cipher \(name)")
            }
        }
        guard unsafe SSL_CTX_set_cipher_list(context, list) == 1 else {
            throw TLSError(ErrorQueue.drain("not a list of ciphers"))
        }
    }

    static func setCipherSuites(_ list: String, in context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        for name in list.split(separator: ":") {
            guard unsafe SSL_CTX_set_ciphersuites(context, String(name)) == 1 else {
                ErrorQueue.clear()
                throw TLSError("OpenSSL has no cipher suite \(name)")
            }
        }
        guard unsafe SSL_CTX_set_ciphersuites(context, list) == 1 else {
            throw TLSError(ErrorQueue.drain("not a list of cipher suites"))
        }
    }

    /// Sets the groups, without those that are marked `?` and missing. OpenSSL handles the mark
    /// itself only from 3.5 on.
    static func setGroups(_ list: String, in context: OpaquePointer) throws(TLSError) {
        ErrorQueue.clear()
        var kept: [String] = []
        for tuple in list.split(separator: ":", omittingEmptySubsequences: false) {
            var names: [String] = []
            for entry in tuple.split(separator: "/", omittingEmptySubsequences: false) {
                let marks = entry.prefix { "?*-".contains($0) }
                let name = String(entry.dropFirst(marks.count))
                if unsafe sallyport_tls_set_groups(context, name) == 1 {
                    names.append(marks.filter { $0 != "?" } + name)
                } else if !marks.contains("?") {
                    ErrorQueue.clear()
                    throw TLSError(missing(name))
                }
            }
            if !names.isEmpty { kept.append(names.joined(separator: "/")) }
        }
        ErrorQueue.clear()
        guard !kept.isEmpty else { throw TLSError("OpenSSL has none of the groups \(list)") }
        guard unsafe sallyport_tls_set_groups(context, kept.joined(separator: ":")) == 1 else {
            throw TLSError(ErrorQueue.drain("not a list of groups"))
        }
    }

    private static func missing(_ name: String) -> String {
        guard !name.isEmpty else { return "names an empty group" }
        return "OpenSSL \(TLSLibrary.version) has no group \(name): write ?\(name) to use it only "
            + "if the library has it"
    }

    /// The application protocols in the form of the extension (RFC 7301 section 3.1).
    static func wireForm(_ protocols: [String]) -> [UInt8] {
        protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    }
}

/// The TLS library, which is the system's and may be newer than this program.
public enum TLSLibrary {
    /// Its version, such as `3.0.19`.
    public static var version: String {
        unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
    }
}
