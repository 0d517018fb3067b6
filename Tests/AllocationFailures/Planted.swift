import CNghttp2
import COpenSSL
import Glibc

/// Faults on purpose: whoever does not find these finds nothing.
enum Planted {
    static func operations() -> [Operation] {
        [
            Operation("planted verdict", isPlanted: true) {
                guard let memory = CRYPTO_malloc(1, #file, #line) else { return .wrong("believed") }
                CRYPTO_free(memory, #file, #line)
                return .right
            },
            Operation("planted leak", isPlanted: true) {
                guard let first = CRYPTO_malloc(1, #file, #line) else { return .refused }
                guard let second = CRYPTO_malloc(1, #file, #line) else { return .refused }
                CRYPTO_free(first, #file, #line)
                CRYPTO_free(second, #file, #line)
                return .right
            },
            Operation("planted crash", isPlanted: true) {
                guard let memory = CRYPTO_malloc(1, #file, #line) else {
                    raise(SIGSEGV); return .right
                }
                CRYPTO_free(memory, #file, #line)
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
