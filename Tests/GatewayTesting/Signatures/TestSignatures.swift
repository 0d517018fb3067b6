public import Crypto
import Foundation

/// How the tests that run a gateway in their own process have signatures verified: by the library,
/// one alone as well as many, so that all of them try its path; the programs that other tests start
/// verify by OpenSSL. `SALLYPORT_TEST_SIGNATURES=single` has all of them do that.
public enum TestSignatures {
    /// Nil for OpenSSL.
    public static let library: MultiBufferLibrary? = {
        guard ProcessInfo.processInfo.environment["SALLYPORT_TEST_SIGNATURES"] != "single" else {
            return nil
        }
        return real ?? standIn
    }()

    /// Intel's own, where the test command could install it and the processor is one for it.
    public static let real: MultiBufferLibrary? = realPath.flatMap {
        try? MultiBufferLibrary(at: $0)
    }

    private static let standIn = try? StandInLibrary.open()

    /// Intel's where it can be used, else a stand-in.
    public static func someLibrary() throws -> MultiBufferLibrary {
        try real ?? StandInLibrary.open()
    }

    /// Where the test command puts Intel's library; nil where it could not.
    public static let realPath: String? = {
        let path = Repository.path(of: ".build/python/lib/libcrypto_mb.so.13")
        return FileManager.default.fileExists(atPath: path) ? path : nil
    }()
}
