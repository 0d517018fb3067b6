package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.RequestBody;
import okio.BufferedSink;
import okio.Okio;

/**
 * Proves the requests of an {@code OkHttpClient} (4 or later) that go to the client's gateway, and
 * leaves others alone. Add it by {@code addInterceptor}, after those that change requests, and set
 * {@code followRedirects(false)}, because an assertion is for one target only.
 *
 * <p>A call fails with a {@link ClientException} if the gateway refuses and nothing helps now. A
 * request with the tag {@code AttestClient.Proof.SESSION_TOKEN} is sent with a session token.
 */
public final class SigningInterceptor implements Interceptor {
    private final AttestClient client;

    public SigningInterceptor(AttestClient client) {
        this.client = client;
    }

    @Override
    public okhttp3.Response intercept(Chain chain) throws IOException {
        okhttp3.Request original = chain.request();
        String url = original.url().toString();
        boolean isOwn = original.tag(OkHttpTransport.Own.class) != null;
        if (isOwn || !client.serves(url)) {
            return chain.proceed(original);
        }
        RequestBody body = original.body();
        if (body != null && (body.isDuplex() || body.isOneShot())) {
            throw new ClientException.InvalidRequest(
                    "a body that can be written once cannot be signed");
        }
        Request request = new Request(
                original.method(), url, body == null ? null : new WrittenBody(body));
        // The value of the header that a session token is bound to.
        String binding = client.configuration().sessionTokenHeader;
        if (binding != null && original.header(binding) != null) {
            request = request.withHeader(binding, original.header(binding));
        }
        AttestClient.Proof proof = original.tag(AttestClient.Proof.class);
        return client.deliver(
                request, proof == null ? AttestClient.Proof.ASSERTION : proof,
                client.configuration().whenUnproved, new ChainExchange(chain, original)).content;
    }

    /** Sends the attempts of one call. */
    private static final class ChainExchange implements Exchange<okhttp3.Response> {
        private final Chain chain;
        private final okhttp3.Request original;

        ChainExchange(Chain chain, okhttp3.Request original) {
            this.chain = chain;
            this.original = original;
        }

        @Override
        public Answer<okhttp3.Response> send(Request request) throws IOException {
            okhttp3.Request.Builder builder = original.newBuilder();
            for (Request.Header header : request.headers) {
                builder.header(header.name, header.value);
            }
            RequestBody body = request.body == null ? null
                    : new SentBody(request.body, original.body().contentType());
            okhttp3.Response response =
                    chain.proceed(builder.method(request.method, body).build());
            Refusal.Headers headers = name -> joined(response.headers(name));
            Refusal refusal = null;
            if (Refusal.mayBe(response.code(), headers)) {
                byte[] document = response.peekBody(Refusal.BYTE_COUNT_MAX + 1L).bytes();
                refusal = Refusal.of(response.code(), headers, document);
            }
            return new Answer<>(response, response.header(HeaderName.CHALLENGE), refusal);
        }

        private static String joined(List<String> values) {
            StringBuilder joined = new StringBuilder();
            for (String value : values) {
                joined.append(joined.length() == 0 ? "" : ", ").append(value);
            }
            return values.isEmpty() ? null : joined.toString();
        }

        @Override
        public void discard(okhttp3.Response response) {
            response.close();
        }
    }

    /** A body of OkHttp, which writes itself as often as it is asked. */
    private static final class WrittenBody extends Body {
        private final RequestBody body;
        private byte[] bytes;

        WrittenBody(RequestBody body) {
            this.body = body;
        }

        @Override
        public long length() {
            try {
                return body.contentLength();
            } catch (IOException error) {
                return -1;
            }
        }

        @Override
        public void writeTo(OutputStream out) throws IOException {
            BufferedSink sink = Okio.buffer(Okio.sink(out));
            body.writeTo(sink);
            sink.flush();
        }

        /** In memory only if the body itself is signed. */
        @Override
        byte[] bytes() {
            if (bytes == null) {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                try {
                    writeTo(out);
                } catch (IOException error) {
                    return null;
                }
                bytes = out.toByteArray();
            }
            return bytes;
        }
    }

    /** A body that OkHttp does not send again by itself: the gateway would refuse that. */
    static final class SentBody extends RequestBody {
        private final Body body;
        private final MediaType type;

        SentBody(Body body, MediaType type) {
            this.body = body;
            this.type = type;
        }

        @Override
        public MediaType contentType() {
            return type;
        }

        @Override
        public long contentLength() {
            return body.length();
        }

        @Override
        public boolean isOneShot() {
            return true;
        }

        @Override
        public void writeTo(BufferedSink sink) throws IOException {
            body.writeTo(sink.outputStream());
        }
    }
}
