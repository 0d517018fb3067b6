import CCryptoMB
import Synchronization

/// Intel's Cryptography Primitives Library (`crypto_mb`), which verifies eight P-256 signatures in
/// one call by the AVX-512 IFMA instructions.
///
/// The library is looked for when the program runs, and is given out only after it has passed tests
/// with known answers. After the first verdict that OpenSSL does not share, no thread trusts it any
/// more. It is never unloaded.
@safe
public final class MultiBufferLibrary: Sendable {
    /// The release of `crypto_mb`, such as `2.3.0` in version `13.3` of the package.
    public let version: String
    /// The file that was asked for. A path without a slash was found by the system's loader.
    public let path: String
    private let verifyLanes: sallyport_mbx_verify
    /// The raw value of a ``MultiBufferDistrust``, or 0.
    private let distrusted = Atomic<UInt8>(0)
    private let untold = Atomic<Bool>(false)

    /// The name that the system's loader is given if the configuration names no file.
    public static let standardName = "libcrypto_mb.so.13"

    /// Opens the library at `path`, or the one that the system finds, and tests it.
    ///
    /// `beforeLoading` is called with a named path right before the first code of the library runs,
    /// which may end the process or never return. At that time it is not known if the system has
    /// such a file.
    public convenience init(
        at path: String?, beforeLoading: (String) -> Void = { _ in }
    ) throws(MultiBufferFailure) {
        let path = path ?? Self.standardName
        if let problem = Self.problem(ofFileAt: path) { throw .notFound("\(path): \(problem)") }
        if Self.namesFile(path) { beforeLoading(path) }
        let handle = try unsafe Self.open(path)
        do throws(MultiBufferFailure) {
            try unsafe self.init(handle, path)
            guard MultiBufferSelfTest.passes(self) else { throw .knownAnswer }
        } catch {
            unsafe dlclose(handle)
            throw error
        }
    }

    private init(_ handle: UnsafeMutableRawPointer, _ path: String) throws(MultiBufferFailure) {
        guard let isApplicable = unsafe sallyport_mbx_find_is_applicable(handle) else {
            throw .symbolMissing("mbx_is_crypto_mb_applicable", path)
        }
        guard let verify = unsafe sallyport_mbx_find_verify(handle) else {
            throw .symbolMissing("mbx_nistp256_ecdsa_verify_mb8", path)
        }
        guard isApplicable(0) == 1 else { throw .processor }
        unsafe verifyLanes = unsafe verify
        self.path = path
        guard let version = unsafe sallyport_mbx_find_version(handle), let known = unsafe version()
        else {
            self.version = "unknown"
            return
        }
        let (major, minor, revision) = unsafe (
            known.pointee.major, known.pointee.minor, known.pointee.revision
        )
        self.version = "\(major).\(minor).\(revision)"
    }

    /// True if a path names a file itself. Other libraries are found by the system.
    private static func namesFile(_ path: String) -> Bool { path.utf8.contains(UInt8(ascii: "/")) }

    /// The reason why a named file cannot be loaded, as far as that can be seen without loading:
    /// the loader would wait for a pipe, and an incomplete file would end the process.
    public static func problem(ofFileAt path: String) -> String? {
        guard namesFile(path) else { return nil }
        switch unsafe sallyport_mbx_examine(path) {
        case 0: return nil
        case Int32(SALLYPORT_MBX_NOT_REGULAR): return "is not a regular file"
        case Int32(SALLYPORT_MBX_NOT_WHOLE): return "is not a library, or not a whole one"
        case let code: return unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error"
        }
    }

    /// Opens a file. If it is named by its full path, the compiler's libraries beside it are opened
    /// first, because Intel's packages put them there and the system does not look there.
    private static func open(
        _ path: String
    ) throws(MultiBufferFailure) -> UnsafeMutableRawPointer {
        if let handle = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) { return unsafe handle }
        var reason = loaderText
        // If several cannot be loaded, the first is the reason why the others cannot.
        var runtimeProblem: String?
        for runtime in runtimePaths(beside: path) {
            if let problem = problem(ofFileAt: runtime) {
                runtimeProblem = runtimeProblem ?? "\(runtime): \(problem)"
            } else if unsafe dlopen(runtime, RTLD_NOW | RTLD_GLOBAL) == nil {
                runtimeProblem = runtimeProblem ?? loaderText
            }
        }
        if namesFile(path) {
            if let handle = unsafe dlopen(path, RTLD_NOW | RTLD_LOCAL) { return unsafe handle }
            reason = loaderText
        }
        // The loader does not look beside the library itself, and only says that there is none.
        if let runtimeProblem { reason = "\(runtimeProblem), so the loader says: \(reason)" }
        // The words may be about another library that this one needs.
        throw .notFound(reason.hasPrefix(path) ? reason : "\(path): \(reason)")
    }

    /// The last words of the loader.
    private static var loaderText: String {
        unsafe dlerror().map { unsafe String(cString: $0) } ?? "no reason is known"
    }

    /// The compiler's libraries that exist beside `path`. They are loaded if it needs them.
    public static func runtimePaths(beside path: String) -> [String] {
        guard let slash = path.lastIndex(of: "/") else { return [] }
        return runtimeNames.map { path[...slash] + $0 }
            .filter { unsafe access($0, F_OK) == 0 }
    }

    /// The names in the order of loading: later ones need earlier ones.
    private static let runtimeNames = [
        "libintlc.so.5", "libirng.so", "libimf.so", "libsvml.so",
    ]

    // MARK: trust

    /// True as long as none of its verdicts was wrong.
    public var isTrusted: Bool { distrusted.load(ordering: .relaxed) == 0 }

    /// The reason why it is not trusted any more; nil if it is trusted.
    public var distrust: MultiBufferDistrust? {
        MultiBufferDistrust(rawValue: distrusted.load(ordering: .relaxed))
    }

    /// Notes that the library must not be trusted; the first reason stays.
    func distrust(_ reason: MultiBufferDistrust) {
        let (exchanged, _) = distrusted.compareExchange(
            expected: 0, desired: reason.rawValue, ordering: .relaxed)
        if exchanged { untold.store(true, ordering: .relaxed) }
    }

    /// The reason why the trust was lost. Not nil for the first caller only, so that it is logged
    /// once.
    public func takeLossOfTrust() -> MultiBufferDistrust? {
        guard untold.load(ordering: .relaxed), untold.exchange(false, ordering: .relaxed) else {
            return nil
        }
        return distrust
    }

    /// The library's verdict for each lane.
    func verify(_ lanes: borrowing MultiBufferLanes) -> MultiBufferVerdicts {
        MultiBufferVerdicts(word: unsafe sallyport_mbx_call(verifyLanes, lanes.pointer))
    }
}

/// The answer of one call: four bits for each lane.
struct MultiBufferVerdicts {
    let word: UInt32

    enum Verdict: Hashable {
        case valid
        case invalid
        /// The library could not tell, so OpenSSL must verify the signature.
        case unknown
    }

    subscript(lane: Int) -> Verdict {
        switch word >> UInt32(lane * 4) & 0xF {
        // MBX_STATUS_OK and MBX_STATUS_SIGNATURE_ERR.
        case 0: .valid
        case 8: .invalid
        default: .unknown
        }
    }
}
