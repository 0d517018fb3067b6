#pragma once
#include <features.h>
#include <curl/curl.h>

// The setters and getters are variadic, which Swift cannot call: each kind of value has a name.

static inline CURLcode sallyport_curl_number(CURL *transfer, CURLoption option, long value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode sallyport_curl_text(CURL *transfer, CURLoption option, const char *value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode sallyport_curl_pointer(CURL *transfer, CURLoption option, void *value) {
    return curl_easy_setopt(transfer, option, value);
}

static inline CURLcode sallyport_curl_fields(CURL *transfer, struct curl_slist *fields) {
    return curl_easy_setopt(transfer, CURLOPT_HTTPHEADER, fields);
}

// libcurl keeps a copy of the bytes; their count has to be known before.
static inline CURLcode sallyport_curl_body(CURL *transfer, const void *bytes, size_t count) {
    CURLcode code = curl_easy_setopt(transfer, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    return code != CURLE_OK ? code : curl_easy_setopt(transfer, CURLOPT_COPYPOSTFIELDS, bytes);
}

static inline CURLcode sallyport_curl_receiver(CURL *transfer, CURLoption option,
                                               curl_write_callback callback) {
    return curl_easy_setopt(transfer, option, callback);
}

static inline CURLcode sallyport_curl_tls_hook(CURL *transfer, curl_ssl_ctx_callback callback) {
    return curl_easy_setopt(transfer, CURLOPT_SSL_CTX_FUNCTION, callback);
}

static inline long sallyport_curl_fact(CURL *transfer, CURLINFO fact) {
    long value = 0;
    return curl_easy_getinfo(transfer, fact, &value) == CURLE_OK ? value : 0;
}

static inline long long sallyport_curl_retry_after(CURL *transfer) {
    curl_off_t seconds = 0;
    return curl_easy_getinfo(transfer, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK ? seconds : 0;
}

static inline CURLMcode sallyport_curl_multi_number(CURLM *transfers, CURLMoption option,
                                                    long value) {
    return curl_multi_setopt(transfers, option, value);
}

static inline CURLMcode sallyport_curl_multi_hooks(CURLM *transfers, curl_socket_callback socket,
                                                   curl_multi_timer_callback timer,
                                                   void *context) {
    curl_multi_setopt(transfers, CURLMOPT_SOCKETFUNCTION, socket);
    curl_multi_setopt(transfers, CURLMOPT_SOCKETDATA, context);
    curl_multi_setopt(transfers, CURLMOPT_TIMERFUNCTION, timer);
    return curl_multi_setopt(transfers, CURLMOPT_TIMERDATA, context);
}
