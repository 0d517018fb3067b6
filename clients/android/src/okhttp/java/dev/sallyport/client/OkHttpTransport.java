package dev.sallyport.client;

import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import okhttp3.Call;
import okhttp3.RequestBody;

/**
 * Sends the client's own requests by OkHttp (4 or later), so that the app's pinning and proxy hold
 * for them too. Give it a client with {@code followRedirects(false)}.
 */
public final class OkHttpTransport implements Transport {
    /** The tag of the client's own requests, which the interceptor leaves alone. */
    static final class Own {
        static final Own TAG = new Own();
    }

    /** The methods that OkHttp sends only with a body. */
    private static final List<String> WITH_BODY =
            Arrays.asList("POST", "PUT", "PATCH", "PROPPATCH", "REPORT");

    private final Call.Factory calls;

    public OkHttpTransport(Call.Factory calls) {
        this.calls = calls;
    }

    @Override
    public Response send(Request request) throws IOException {
        // OkHttp sends some URLs in another spelling.
        request.requireSendable();
        Call call = calls.newCall(converted(request));
        if (request.timeout > 0) {
            call.timeout().timeout(request.timeout, TimeUnit.MILLISECONDS);
        }
        try (okhttp3.Response response = call.execute()) {
            return new Response(
                    response.code(), response.headers().toMultimap(), response.body().bytes());
        }
    }

    private static okhttp3.Request converted(Request request)
            throws ClientException.InvalidRequest {
        Body body = request.body;
        if (body == null && WITH_BODY.contains(request.method)) {
            body = Body.of(new byte[0]);
        }
        RequestBody sent = body == null ? null : new SigningInterceptor.SentBody(body, null);
        try {
            okhttp3.Request.Builder builder =
                    new okhttp3.Request.Builder().url(request.url).tag(Own.class, Own.TAG);
            for (Request.Header header : request.headers) {
                builder.header(header.name, header.value);
            }
            return builder.method(request.method, sent).build();
        } catch (IllegalArgumentException error) {
            throw new ClientException.InvalidRequest(error.getMessage());
        }
    }
}
