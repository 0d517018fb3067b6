package android.security.keystore;

import java.security.spec.AlgorithmParameterSpec;

public final class KeyGenParameterSpec implements AlgorithmParameterSpec {
    private final Builder builder;

    private KeyGenParameterSpec(Builder builder) {
        this.builder = builder;
    }

    public String getKeystoreAlias() {
        return builder.alias;
    }

    public int getPurposes() {
        return builder.purposes;
    }

    public String[] getDigests() {
        return builder.digests;
    }

    public AlgorithmParameterSpec getAlgorithmParameterSpec() {
        return builder.parameters;
    }

    public byte[] getAttestationChallenge() {
        return builder.challenge;
    }

    public boolean isStrongBoxBacked() {
        return builder.isStrongBox;
    }

    public static final class Builder {
        private final String alias;
        private final int purposes;
        private String[] digests = {};
        private AlgorithmParameterSpec parameters;
        private byte[] challenge;
        private boolean isStrongBox;

        public Builder(String alias, int purposes) {
            this.alias = alias;
            this.purposes = purposes;
        }

        public Builder setDigests(String... digests) {
            this.digests = digests;
            return this;
        }

        public Builder setAlgorithmParameterSpec(AlgorithmParameterSpec parameters) {
            this.parameters = parameters;
            return this;
        }

        public Builder setAttestationChallenge(byte[] challenge) {
            this.challenge = challenge;
            return this;
        }

        public Builder setIsStrongBoxBacked(boolean isStrongBox) {
            this.isStrongBox = isStrongBox;
            return this;
        }

        public KeyGenParameterSpec build() {
            return new KeyGenParameterSpec(this);
        }
    }
}
