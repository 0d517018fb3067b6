package dev.sallyport.client;

/**
 * A session token, which one assertion has paid for. Its holder can send it, so protect it like a
 * session cookie.
 */
public final class SessionToken {
    /** The header in which a request carries a token. */
    public static final String HEADER_NAME = HeaderName.TOKEN;

    /** The header's value. */
    public final String text;
    /**
     * The time until which it may be sent, in milliseconds since 1970. A tenth of its life is left
     * then, for requests on their way.
     */
    public final long until;
    /** The value of the header that it is bound to; null if it is bound to none. */
    final String binding;
    /** The key that paid for it. */
    final String keyId;

    SessionToken(String text, long until, String binding, String keyId) {
        this.text = text;
        this.until = until;
        this.binding = binding;
        this.keyId = keyId;
    }
}
