package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import okhttp3.Interceptor;
import okhttp3.MediaType;
import okhttp3.RequestBody;
import okio.BufferedSink;
import okio.Okio;

/** Sends what OkHttp would send, by another transport. */
final class OkHttpNetwork {
    final List<okhttp3.Response> responses = new ArrayList<>();
    final List<okhttp3.Request> sent = new ArrayList<>();
    private final Transport network;

    OkHttpNetwork(Transport network) {
        this.network = network;
    }

    okhttp3.Response proceed(okhttp3.Request request) throws IOException {
        sent.add(request);
        Request plain = new Request(request.method(), request.url().toString(), null);
        for (String name : request.headers().toMultimap().keySet()) {
            plain = plain.withHeader(name, request.header(name));
        }
        if (request.body() != null) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            BufferedSink sink = Okio.buffer(Okio.sink(out));
            request.body().writeTo(sink);
            sink.flush();
            plain = plain.withBody(Body.of(out.toByteArray()));
        }
        Response answer = network.send(plain);
        okhttp3.Response response = new okhttp3.Response(answer.status, answer.body);
        for (String name : new String[] {
            "X-App-Attest-Challenge", "Content-Type", "WWW-Authenticate", "Retry-After"
        }) {
            if (answer.header(name) != null) {
                response.add(name, answer.header(name));
            }
        }
        responses.add(response);
        return response;
    }

    okhttp3.Response call(SigningInterceptor interceptor, okhttp3.Request request)
            throws IOException {
        return interceptor.intercept(new Interceptor.Chain() {
            @Override
            public okhttp3.Request request() {
                return request;
            }

            @Override
            public okhttp3.Response proceed(okhttp3.Request request) throws IOException {
                return OkHttpNetwork.this.proceed(request);
            }
        });
    }

    static RequestBody body(String text, boolean isOneShot) {
        return new RequestBody() {
            @Override
            public MediaType contentType() {
                return MediaType.get("text/plain");
            }

            @Override
            public void writeTo(BufferedSink sink) throws IOException {
                sink.write(text.getBytes("UTF-8"));
            }

            @Override
            public boolean isOneShot() {
                return isOneShot;
            }
        };
    }
}
