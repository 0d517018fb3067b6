package dev.sallyport.client;

/** The headers whose names gateways cannot change. */
final class HeaderName {
    static final String CHALLENGE = "X-App-Attest-Challenge";
    static final String TOKEN = "X-App-Attest-Token";
    static final String ACTION = "X-App-Attest-Action";
    static final String FAILURE = "X-App-Attest-Failure";

    private HeaderName() {}
}
