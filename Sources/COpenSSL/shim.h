#pragma once
#include <features.h>
#include <errno.h>
#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/ocsp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

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

// So are EC_KEY and ECDSA_verify. EVP goes through the provider for each key and each verification
// and then calls the same functions: 9,300 instructions more, and 2.5 us of 64.
static inline EC_KEY *sallyport_p256_key(void) {
    return EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
}

static inline void sallyport_p256_key_free(EC_KEY *key) { EC_KEY_free(key); }

// 1 if the 65 bytes (SEC 1 section 2.3.3) are a point on the curve, which the key then has.
static inline int sallyport_p256_set_point(EC_KEY *key, const unsigned char point[65],
                                           BN_CTX *scratch) {
    return EC_KEY_oct2key(key, point, 65, scratch);
}

static inline int sallyport_p256_verify(EC_KEY *key, const unsigned char digest[32],
                                        const unsigned char *signature, size_t count) {
    return ECDSA_verify(0, digest, 32, signature, (int)count, key);
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

// Not X509_add_cert, which keeps the reference if it has no memory for the entry.
static inline int sallyport_certificates_append(STACK_OF(X509) *stack, X509 *certificate) {
    if (sk_X509_push(stack, certificate) <= 0) return 0;
    X509_up_ref(certificate);
    return 1;
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

// MARK: TLS

// The options are expressions and the setters macros. No renegotiation: TLS 1.2 clients could make
// the server sign again and again. Read ahead: one call a record instead of two. An unexpected end
// is found by `sallyport_tls_outcome`: OpenSSL would send an alert to a peer that is gone.
static inline void sallyport_tls_harden(SSL_CTX *context, int tickets) {
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    if (!tickets) {
        SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(context, 0);
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context, 0);
}

static inline int sallyport_tls_set_minimum(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}

static inline int sallyport_tls_set_groups(SSL_CTX *context, const char *list) {
    return (int)SSL_CTX_set1_groups_list(context, list);
}

// The getter is a macro. No group: NULL, never the name that SSL_group_to_name would find for 0.
static inline const char *sallyport_tls_group_name(SSL *session) {
    int group = (int)SSL_get_negotiated_group(session);
    return group == NID_undef ? NULL : SSL_group_to_name(session, group);
}

static inline int sallyport_tls_set_status_callback(
    SSL_CTX *context, int (*callback)(SSL *, void *)) {
    return (int)SSL_CTX_set_tlsext_status_cb(context, callback);
}

static inline int sallyport_tls_set_name_callback(SSL_CTX *context,
                                                  int (*callback)(SSL *, int *, void *)) {
    return (int)SSL_CTX_set_tlsext_servername_callback(context, callback);
}

static inline int sallyport_tls_set_server_name(SSL *session, const char *name) {
    return (int)SSL_set_tlsext_host_name(session, name);
}

// The session takes over a copy that OpenSSL's allocator made.
static inline int sallyport_tls_staple(SSL *session, const unsigned char *bytes, size_t count) {
    unsigned char *copy = OPENSSL_memdup(bytes, count);
    if (copy == NULL) return 0;
    SSL_set_tlsext_status_ocsp_resp(session, copy, (long)count);
    return 1;
}

// A ticket's cipher and MAC (RFC 5077 section 4): AES-256-CBC and HMAC-SHA256, as nginx does.
static inline int sallyport_tls_ticket_start(EVP_CIPHER_CTX *cipher, EVP_MAC_CTX *mac,
                                             const unsigned char *mac_key,
                                             const unsigned char *cipher_key,
                                             const unsigned char *iv, int encrypts) {
    char digest[] = "SHA256";
    OSSL_PARAM parameters[3] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)mac_key, 32),
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };
    return EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), NULL, cipher_key, iv, encrypts) == 1 &&
           EVP_MAC_CTX_set_params(mac, parameters) == 1;
}

// A flag of ours that OpenSSL's sockets do not use.
#define SALLYPORT_TLS_MORE 0x40000000

static inline int sallyport_tls_socket_write(BIO *socket, const char *bytes, int count) {
    int more = BIO_test_flags(socket, SALLYPORT_TLS_MORE) ? MSG_MORE : 0;
    int descriptor = (int)BIO_get_fd(socket, NULL);
    errno = 0;
    int sent = (int)send(descriptor, bytes, (size_t)count, MSG_NOSIGNAL | more);
    BIO_clear_retry_flags(socket);
    if (sent <= 0 && BIO_sock_should_retry(sent)) BIO_set_retry_write(socket);
    return sent;
}

// OpenSSL's socket with another way to write. NULL if there is no memory.
static inline BIO_METHOD *sallyport_tls_socket(void) {
    const BIO_METHOD *plain = BIO_s_socket();
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOCKET, "socket that sends records together");
    if (method == NULL) return NULL;
    if (BIO_meth_set_write(method, sallyport_tls_socket_write) == 1 &&
        BIO_meth_set_read(method, BIO_meth_get_read(plain)) == 1 &&
        BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(plain)) == 1 &&
        BIO_meth_set_create(method, BIO_meth_get_create(plain)) == 1 &&
        BIO_meth_set_destroy(method, BIO_meth_get_destroy(plain)) == 1) {
        return method;
    }
    BIO_meth_free(method);
    return NULL;
}

// Makes `session` read and write `descriptor`, which it does not close. 0 if there is no memory.
static inline int sallyport_tls_set_socket(SSL *session, const BIO_METHOD *method, int descriptor) {
    BIO *socket = BIO_new(method);
    if (socket == NULL) return 0;
    BIO_set_fd(socket, descriptor, BIO_NOCLOSE);
    SSL_set_bio(session, socket, socket);
    return 1;
}

// What one call on a session came to. The error queue is empty before each, as SSL_get_error(3)
// wants it, and errno is read before anything else can change it.
typedef struct {
    int count;
    int error;
    int system_error;
} sallyport_tls_result;

static inline sallyport_tls_result sallyport_tls_outcome(SSL *session, int count) {
    int system_error = errno;
    sallyport_tls_result result = {count, SSL_ERROR_NONE, system_error};
    if (count <= 0) result.error = SSL_get_error(session, count);
    // OpenSSL was told to take an end without close_notify for one with it. Only the socket that
    // has met it says so: behind close_notify nothing is read.
    if (result.error == SSL_ERROR_ZERO_RETURN && BIO_eof(SSL_get_rbio(session))) {
        result.error = SSL_ERROR_SYSCALL;
        result.system_error = 0;
    }
    return result;
}

static inline sallyport_tls_result sallyport_tls_handshake(SSL *session) {
    ERR_clear_error();
    errno = 0;
    return sallyport_tls_outcome(session, SSL_do_handshake(session));
}

// Calls `callback` with `context` for each message that is sent or received from now on.
static inline void sallyport_tls_watch_messages(
    SSL *session,
    void (*callback)(int, int, int, const void *, size_t, SSL *, void *), void *context) {
    SSL_set_msg_callback(session, callback);
    SSL_set_msg_callback_arg(session, context);
}

// Makes a read that is under way end before it looks at another record.
static inline void sallyport_tls_end_reading(SSL *session) {
    SSL_set_shutdown(session, SSL_get_shutdown(session) | SSL_RECEIVED_SHUTDOWN);
}

static inline sallyport_tls_result sallyport_tls_read(SSL *session, void *target, int count) {
    ERR_clear_error();
    errno = 0;
    return sallyport_tls_outcome(session, SSL_read(session, target, count));
}

// With `more` further records follow at once, which `sallyport_tls_socket_write` tells the kernel.
static inline sallyport_tls_result sallyport_tls_write(SSL *session, const void *bytes, int count,
                                                       int more) {
    BIO *socket = SSL_get_wbio(session);
    ERR_clear_error();
    errno = 0;
    if (more) BIO_set_flags(socket, SALLYPORT_TLS_MORE);
    sallyport_tls_result result =
        sallyport_tls_outcome(session, SSL_write(session, bytes, count));
    if (more) BIO_clear_flags(socket, SALLYPORT_TLS_MORE);
    return result;
}

// The DNS names of a certificate; the typed stacks and the union inside are out of Swift's reach.
// NULL: `reason` is -1 if it has none, and anything else if they cannot be read.
static inline GENERAL_NAMES *sallyport_names_of(const X509 *certificate, int *reason) {
    return X509_get_ext_d2i(certificate, NID_subject_alt_name, reason, NULL);
}

static inline int sallyport_names_count(const GENERAL_NAMES *names) {
    return names == NULL ? 0 : sk_GENERAL_NAME_num(names);
}

static inline int sallyport_dns_name_at(const GENERAL_NAMES *names, int index,
                                        const unsigned char **bytes) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name->type != GEN_DNS) return -1;
    *bytes = ASN1_STRING_get0_data(name->d.dNSName);
    return ASN1_STRING_length(name->d.dNSName);
}
