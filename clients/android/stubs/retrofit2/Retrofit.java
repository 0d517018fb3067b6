package retrofit2;

import okhttp3.OkHttpClient;

public final class Retrofit {
    /** For tests. */
    public final OkHttpClient client;

    private Retrofit(OkHttpClient client) {
        this.client = client;
    }

    public static final class Builder {
        private OkHttpClient client;

        public Builder baseUrl(String url) {
            return this;
        }

        public Builder client(OkHttpClient client) {
            this.client = client;
            return this;
        }

        public Retrofit build() {
            return new Retrofit(client);
        }
    }
}
