public import Crypto

/// A library with the functions of Intel's `crypto_mb` that are used of it, made by the C compiler
/// and OpenSSL: for machines without the one or the processor for it, and to be wrong on purpose.
public enum StandInLibrary {

    /// How it differs from an honest one. "Strangers" are all keys but that of RFC 6979 and the
    /// curve's base point, which the test of known answers is about.
    public enum Fault: String, Sendable {
        case none = "0"
        /// It is not for this processor.
        case notApplicable = "1"
        /// It has another function's name only.
        case symbolMissing = "2"
        /// Every signature is valid.
        case alwaysValid = "3"
        /// Every signature of a stranger is valid.
        case validForStrangers = "4"
        case invalidForStrangers = "5"
        /// It cannot say of a stranger's signature whether it is valid.
        case unknownForStrangers = "6"
        /// As soon as a stranger is among them, everybody else's signature is invalid.
        case invalidBesideStrangers = "7"
        /// The verdicts of strangers are those of the next lane.
        case shiftedForStrangers = "8"
        /// After ``honestCallCount`` calls every signature is valid.
        case laterValid = "9"
        /// After as many, none is.
        case laterInvalid = "10"
        /// After as many, it cannot say anything.
        case laterUnknown = "11"
        /// It does not say which processors it is for.
        case applicabilityMissing = "12"
        /// Whoever loads it ends.
        case crashing = "13"
    }

    /// For how many calls with strangers the libraries are honest that are not later.
    public static let honestCallCount = 50

    /// Opens one, or throws why it is not to be used.
    public static func open(_ fault: Fault = .none) throws -> MultiBufferLibrary {
        // What is open stays so when its file is gone.
        let directory = try ScratchDirectory()
        return try MultiBufferLibrary(at: make(fault, in: directory))
    }

    /// Makes one, and returns the path of its file. `runtimeName`: of a library that it needs, and
    /// that is made beside it.
    public static func make(
        _ fault: Fault = .none, in directory: ScratchDirectory, needing runtimeName: String? = nil
    ) throws -> String {
        let file = try directory.write(source, to: "library.c")
        let path = directory.path(of: "library.so")
        var libraries = ["-lcrypto"]
        if let runtimeName {
            let runtime = directory.path(of: runtimeName)
            try compile([
                "-Wl,-soname,\(runtimeName)", "-o", runtime,
                try directory.write("int sallyport_runtime;", to: "runtime.c"),
            ])
            libraries += ["-Wl,--no-as-needed", runtime]
        }
        try compile(
            [
                "-DFAULT=\(fault.rawValue)", "-DHONEST_CALLS=\(honestCallCount)", "-o", path, file,
            ] + libraries)
        return path
    }

    private static func compile(_ arguments: [String]) throws {
        let outcome = try ChildProcess.run("cc", ["-w", "-O1", "-shared", "-fPIC"] + arguments)
        guard outcome.status == .exited(0) else { throw Failure(text: outcome.standardError) }
    }

    public struct Failure: Error {
        public let text: String
    }

    private static let source = """
        #include <openssl/ec.h>
        #include <openssl/ecdsa.h>
        #include <openssl/obj_mac.h>
        #include <stdint.h>
        #include <string.h>

        #if FAULT == 2
        #define mbx_nistp256_ecdsa_verify_mb8 mbx_other
        #endif
        #if FAULT == 12
        #define mbx_is_crypto_mb_applicable mbx_other
        #endif
        #if FAULT == 13
        __attribute__((constructor)) static void crash(void) { __builtin_trap(); }
        #endif
        typedef const uint8_t *const *bytes8;
        typedef const uint64_t *const *words8;

        int mbx_is_crypto_mb_applicable(uint64_t features) { return FAULT != 1; }

        static int is_stranger(const uint64_t *x) {
            return x[3] != 0x60FED4BA255A9D31 && x[3] != 0x6B17D1F2E12C4247;
        }

        static BIGNUM *number(const uint64_t *words) {
            uint8_t bytes[32];
            for (int i = 0; i < 32; i++) bytes[i] = words[3 - i / 8] >> (56 - i % 8 * 8);
            return BN_bin2bn(bytes, 32, NULL);
        }

        static uint32_t verify(const uint8_t *r, const uint8_t *s, const uint8_t *digest,
                               const uint64_t *x, const uint64_t *y) {
            EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
            BIGNUM *m = BN_bin2bn(digest, 32, NULL);
            int in_range = BN_cmp(m, EC_GROUP_get0_order(EC_KEY_get0_group(key))) < 0;
            BIGNUM *bx = number(x), *by = number(y);
            uint32_t status = 1;
            if (in_range && EC_KEY_set_public_key_affine_coordinates(key, bx, by) == 1) {
                ECDSA_SIG *signature = ECDSA_SIG_new();
                ECDSA_SIG_set0(signature, BN_bin2bn(r, 32, NULL), BN_bin2bn(s, 32, NULL));
                status = ECDSA_do_verify(digest, 32, signature, key) == 1 ? 0 : 8;
                ECDSA_SIG_free(signature);
            }
            BN_free(bx); BN_free(by); BN_free(m); EC_KEY_free(key);
            return status;
        }

        uint32_t mbx_nistp256_ecdsa_verify_mb8(bytes8 r, bytes8 s, bytes8 digest, words8 x,
                                               words8 y, words8 z, uint8_t *buffer) {
            static unsigned calls;
            uint32_t status[8], word = 0;
            int strangers = 0;
            for (int i = 0; i < 8; i++) strangers += is_stranger(x[i]);
            int late = strangers && calls++ >= HONEST_CALLS;
            for (int i = 0; i < 8; i++) status[i] = verify(r[i], s[i], digest[i], x[i], y[i]);
            for (int i = 0; i < 8; i++) {
                uint32_t it = status[i];
                int stranger = is_stranger(x[i]);
                if (FAULT == 3 || (FAULT == 4 && stranger)) it = 0;
                if (FAULT == 5 && stranger) it = 8;
                if (FAULT == 6 && stranger) it = 2;
                if (FAULT == 7 && strangers && !stranger) it = 8;
                if (FAULT == 8 && stranger) it = status[(i + 1) % 8];
                if (FAULT == 9 && late) it = 0;
                if (FAULT == 10 && late) it = 8;
                if (FAULT == 11 && late) it = 1;
                word |= it << (i * 4);
            }
            return word;
        }
        """
}
