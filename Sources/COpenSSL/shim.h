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

// The typed stacks are macros. The stack takes a reference of its own to each certificate.
static inline STACK_OF(X509) *sallyport_certificates_new(void) { return sk_X509_new_null(); }

static inline int sallyport_certificates_append(STACK_OF(X509) *stack, X509 *certificate) {
    return X509_add_cert(stack, certificate, X509_ADD_FLAG_UP_REF);
}

static inline int sallyport_certificates_count(const STACK_OF(X509) *stack) {
    return stack == NULL ? 0 : sk_X509_num(stack);
}

static inline X509 *sallyport_certificates_at(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

static inline void sallyport_certificates_free(STACK_OF(X509) *stack) {
    sk_X509_pop_free(stack, X509_free);
}

// The flags are a macro over macros. Control characters are escaped: the text goes to terminals.
static inline int sallyport_name_print(BIO *bio, const X509_NAME *name) {
    return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
}

static inline int sallyport_signers_count(CMS_ContentInfo *message) {
    STACK_OF(CMS_SignerInfo) *signers = CMS_get0_SignerInfos(message);
    return signers == NULL ? 0 : sk_CMS_SignerInfo_num(signers);
}

static inline CMS_SignerInfo *sallyport_signer_at(CMS_ContentInfo *message, int index) {
    return sk_CMS_SignerInfo_value(CMS_get0_SignerInfos(message), index);
}

// BIO_flush is a macro.
static inline int sallyport_bio_flush(BIO *bio) { return (int)BIO_flush(bio); }
