package okhttp3;

import java.util.ArrayList;
import java.util.List;

public class OkHttpClient implements Call.Factory {
    /** For tests. */
    public final List<Interceptor> interceptors;

    private OkHttpClient(Builder builder) {
        interceptors = new ArrayList<>(builder.interceptors);
    }

    @Override
    public Call newCall(Request request) {
        throw new UnsupportedOperationException("the stand-in has no network");
    }

    public Builder newBuilder() {
        Builder builder = new Builder();
        builder.interceptors.addAll(interceptors);
        return builder;
    }

    public static final class Builder {
        private final List<Interceptor> interceptors = new ArrayList<>();

        public Builder followRedirects(boolean follows) {
            return this;
        }

        public Builder addInterceptor(Interceptor interceptor) {
            interceptors.add(interceptor);
            return this;
        }

        public OkHttpClient build() {
            return new OkHttpClient(this);
        }
    }
}
