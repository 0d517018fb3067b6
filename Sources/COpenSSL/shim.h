#pragma once
#include <features.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// Swift imports neither function-like macros nor variadic functions, and treats a deprecated one as
// a warning: each such step has a name here and nothing else does.

// SHA256_Init and its kin are deprecated, not replaced: EVP adds a context on the heap and, in its
// one-shot form, a fetch of 0.2 us to a digest of 0.1 us.
static inline void sallyport_sha256_start(SHA256_CTX *context) { SHA256_Init(context); }

static inline void sallyport_sha256_update(SHA256_CTX *context, const void *bytes, size_t count) {
    SHA256_Update(context, bytes, count);
}

static inline void sallyport_sha256_finish(SHA256_CTX *context, unsigned char digest[32]) {
    SHA256_Final(digest, context);
}

// EVP_EC_gen is a macro over a variadic function.
static inline EVP_PKEY *sallyport_ec_generate(const char *curve) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}

// BIO_get_mem_data is a macro. The bytes stay the BIO's.
static inline size_t sallyport_bio_contents(BIO *bio, const unsigned char **start) {
    char *bytes = NULL;
    long count = BIO_get_mem_data(bio, &bytes);
    *start = (const unsigned char *)bytes;
    return count > 0 ? (size_t)count : 0;
}
