import CNghttp2
import COpenSSL
import Glibc

/// Faults on purpose: whoever does not find these finds nothing.
enum Planted {
    /// It stays, as those of OpenSSL's lines do.
    nonisolated(unsafe) private static let file = UnsafeRawPointer(
        ("planted" as StaticString).utf8Start
    )
    .assumingMemoryBound(to: CChar.self)

    static func operations() -> [Operation] {
        [
            Operation("planted verdict", isPlanted: true) {
                guard let memory = CRYPTO_malloc(1, file, 1) else { return .wrong("believed") }
                CRYPTO_free(memory, file, 1)
                return .right
            },
            Operation("planted leak", isPlanted: true) {
                guard let first = CRYPTO_malloc(1, file, 1) else { return .refused }
                guard let second = CRYPTO_malloc(1, file, 1) else { return .refused }
                CRYPTO_free(first, file, 1)
                CRYPTO_free(second, file, 1)
                return .right
            },
            // No sanitizer may take this one for its own.
            Operation("planted crash", isPlanted: true) {
                guard let memory = CRYPTO_malloc(1, file, 1) else {
                    raise(SIGKILL); return .right
                }
                CRYPTO_free(memory, file, 1)
                return .right
            },
            // The other libraries have the C library's allocator replaced.
            Operation("planted verdict of a library", of: .nghttp2, isPlanted: true) {
                guard let memory = option() else { return .wrong("believed") }
                nghttp2_option_del(memory)
                return .right
            },
            Operation("planted leak of a library", of: .nghttp2, isPlanted: true) {
                guard let first = option() else { return .refused }
                guard let second = option() else { return .refused }
                nghttp2_option_del(first)
                nghttp2_option_del(second)
                return .right
            },
        ]
    }

    private static func option() -> OpaquePointer? {
        var option: OpaquePointer?
        return nghttp2_option_new(&option) == 0 ? option : nil
    }
}
