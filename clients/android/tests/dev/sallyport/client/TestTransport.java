package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.HashMap;
import java.util.Map;

/** A network that may lose answers. */
final class TestTransport implements Transport {
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final Map<String, Integer> lost = new HashMap<>();
    /** Runs before each request. */
    volatile Runnable before = () -> {};

    /** The gateway gets the next request to this path; its answer is lost. */
    synchronized void lose(String path) {
        lost.merge(path, 1, Integer::sum);
    }

    private synchronized boolean loses(String path) {
        int count = lost.getOrDefault(path, 0);
        lost.put(path, Math.max(0, count - 1));
        return count > 0;
    }

    @Override
    public Response send(Request request) throws IOException {
        before.run();
        HttpRequest.Builder builder = HttpRequest.newBuilder(URI.create(request.url));
        for (Request.Header header : request.headers) {
            builder.setHeader(header.name, header.value);
        }
        HttpRequest.BodyPublisher body = HttpRequest.BodyPublishers.noBody();
        if (request.body != null) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            request.body.writeTo(out);
            body = HttpRequest.BodyPublishers.ofByteArray(out.toByteArray());
        }
        try {
            HttpResponse<byte[]> response = client.send(
                    builder.method(request.method, body).build(),
                    HttpResponse.BodyHandlers.ofByteArray());
            if (loses(Target.of(request.url).path)) {
                throw new SocketException("connection reset");
            }
            return new Response(
                    response.statusCode(), response.headers().map(), response.body());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
    }
}
