package dev.sallyport.client;

/** An answer to a request of the app, with the gateway's own statements in it. */
final class Answer<T> {
    final T content;
    /** The next challenge; null if the answer brought none. */
    final String challenge;
    /** Null if the answer is the API's. */
    final Refusal refusal;
    /**
     * The key that signed the request, or that paid for its session token; null if there was none.
     */
    String keyId;
    /** Null if the request had none. */
    SessionToken token;
    /** The reason why the request was sent without a proof; null if it had one. */
    ClientException unproved;

    Answer(T content, String challenge, Refusal refusal) {
        this.content = content;
        this.challenge = challenge;
        this.refusal = refusal;
    }
}
