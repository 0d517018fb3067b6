package dev.sallyport.client;

import java.util.Objects;

/**
 * A client's knowledge of its gateway. Ask the operator for whatever differs from the defaults.
 */
public final class Configuration {
    /** The treatment of a request that cannot be proved now. */
    public enum Unproved {
        /** The request is not sent. */
        FAIL,
        /** The request is sent without a proof, and the gateway decides. */
        SEND_UNPROVED
    }

    final String gateway;
    final String challengeMember;
    final String assertionHeader;
    final String clientDataHeader;
    final String keyIdHeader;
    final RetryPolicy retries;
    final Unproved whenUnproved;
    final String installation;
    final String developerToken;
    final String sessionTokenHeader;
    final boolean reportsFailures;
    final String keyAlias;

    private Configuration(Builder builder) {
        gateway = builder.gateway;
        challengeMember = builder.challengeMember;
        assertionHeader = builder.assertionHeader;
        clientDataHeader = builder.clientDataHeader;
        keyIdHeader = builder.keyIdHeader;
        retries = builder.retries;
        whenUnproved = builder.whenUnproved;
        installation = builder.installation;
        developerToken = builder.developerToken;
        sessionTokenHeader = builder.sessionTokenHeader;
        reportsFailures = builder.reportsFailures;
        keyAlias = builder.keyAlias;
    }

    /** The settings with their defaults, to be changed. */
    public static final class Builder {
        private final String gateway;
        private String challengeMember;
        private String assertionHeader = "X-App-Attest-Assertion";
        private String clientDataHeader = "X-App-Attest-Client-Data";
        private String keyIdHeader = "X-App-Attest-Key-Id";
        private RetryPolicy retries = new RetryPolicy();
        private Unproved whenUnproved = Unproved.SEND_UNPROVED;
        private String installation;
        private String developerToken;
        private String sessionTokenHeader;
        private boolean reportsFailures = true;
        private String keyAlias;

        /**
         * @param gateway The base URL of the gateway's own endpoints: scheme, host, port and
         *     {@code endpoints.base}.
         */
        public Builder(String gateway) {
            Target.of(gateway);
            this.gateway = gateway.endsWith("/")
                    ? gateway.substring(0, gateway.length() - 1) : gateway;
            keyAlias = "sallyport " + this.gateway;
        }

        /**
         * Signs the body itself, a JSON object, instead of client data in a header: for routes with
         * {@code client_data: body}.
         *
         * @param challengeMember The member of the body that takes the challenge.
         */
        public Builder signBody(String challengeMember) {
            this.challengeMember = Objects.requireNonNull(challengeMember);
            return this;
        }

        /** The names of the request headers: the gateway's setting {@code headers}. */
        public Builder headers(String assertion, String clientData, String keyId) {
            assertionHeader = Objects.requireNonNull(assertion);
            clientDataHeader = Objects.requireNonNull(clientData);
            keyIdHeader = Objects.requireNonNull(keyId);
            return this;
        }

        public Builder retries(RetryPolicy retries) {
            this.retries = Objects.requireNonNull(retries);
            return this;
        }

        /**
         * The treatment of a request that cannot be proved now: because the phone cannot attest
         * keys, an enrolment has to wait, or the key store fails.
         *
         * <p>By default it is sent without a proof. While a roll-out lets installations in step by
         * step, most of them have no key, and a gateway that observes serves them all. One that
         * enforces refuses such a request, which then fails with the reason why it has no proof.
         */
        public Builder whenUnproved(Unproved whenUnproved) {
            this.whenUnproved = Objects.requireNonNull(whenUnproved);
            return this;
        }

        /**
         * A name of 1 to 128 bytes that this installation keeps when its key changes, so that it
         * keeps its place while the operator lets installations in step by step.
         */
        public Builder installation(String installation) {
            this.installation = installation;
            return this;
        }

        /**
         * A token of {@code sallyport developer-token}, sent if the phone cannot attest keys: on
         * emulators and build machines. Do not ship it in your app.
         */
        public Builder developerToken(String developerToken) {
            this.developerToken = developerToken;
            return this;
        }

        /**
         * The header that session tokens are bound to: the gateway's setting {@code
         * session_tokens.bind_to}.
         */
        public Builder sessionTokenHeader(String sessionTokenHeader) {
            this.sessionTokenHeader = sessionTokenHeader;
            return this;
        }

        /**
         * False to report no failures on this phone to the gateway. A report has the step, the
         * failure's code and the versions of system and app. Reports help the operator to find out
         * that a release or a kind of phone cannot attest.
         */
        public Builder reportsFailures(boolean reportsFailures) {
            this.reportsFailures = reportsFailures;
            return this;
        }

        /** The first part of the aliases of the keys, if the default is used for another key. */
        public Builder keyAlias(String keyAlias) {
            this.keyAlias = Objects.requireNonNull(keyAlias);
            return this;
        }

        public Configuration build() {
            return new Configuration(this);
        }
    }
}
