package okhttp3;

import java.util.HashMap;
import java.util.Map;

public final class Request {
    private final HttpUrl url;
    private final String method;
    private final Headers headers;
    private final RequestBody body;
    private final Map<Class<?>, Object> tags;

    private Request(Builder builder) {
        url = builder.url;
        method = builder.method;
        headers = builder.headers.copy();
        body = builder.body;
        tags = new HashMap<>(builder.tags);
    }

    public HttpUrl url() {
        return url;
    }

    public String method() {
        return method;
    }

    public Headers headers() {
        return headers;
    }

    public String header(String name) {
        return headers.get(name);
    }

    public RequestBody body() {
        return body;
    }

    public <T> T tag(Class<? extends T> type) {
        return type.cast(tags.get(type));
    }

    public Builder newBuilder() {
        Builder builder = new Builder();
        builder.url = url;
        builder.method = method;
        builder.headers = headers.copy();
        builder.body = body;
        builder.tags.putAll(tags);
        return builder;
    }

    public static class Builder {
        private HttpUrl url;
        private String method = "GET";
        private Headers headers = new Headers();
        private RequestBody body;
        private final Map<Class<?>, Object> tags = new HashMap<>();

        public Builder url(String url) {
            this.url = new HttpUrl(url);
            return this;
        }

        public Builder header(String name, String value) {
            headers.set(name, value);
            return this;
        }

        public Builder method(String method, RequestBody body) {
            boolean mayHaveBody = !method.equals("GET") && !method.equals("HEAD");
            boolean needsBody = method.equals("POST") || method.equals("PUT")
                    || method.equals("PATCH");
            if (body != null && !mayHaveBody || body == null && needsBody) {
                throw new IllegalArgumentException("method " + method + " and its body");
            }
            this.method = method;
            this.body = body;
            return this;
        }

        public <T> Builder tag(Class<? super T> type, T tag) {
            tags.put(type, tag);
            return this;
        }

        public Request build() {
            return new Request(this);
        }
    }
}
