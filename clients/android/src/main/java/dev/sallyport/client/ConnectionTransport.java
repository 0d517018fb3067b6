package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpRetryException;
import java.net.HttpURLConnection;
import java.net.URL;

/** Sends by {@code HttpURLConnection}. */
public class ConnectionTransport implements Transport {
    private static final int TIMEOUT = 30_000;

    /**
     * Opens a connection. Override this to set a socket factory that pins certificates, or other
     * times. It must neither connect nor follow redirections.
     */
    protected HttpURLConnection open(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.setConnectTimeout(TIMEOUT);
        connection.setReadTimeout(TIMEOUT);
        return connection;
    }

    @Override
    public Response send(Request request) throws IOException {
        request.requireSendable();
        HttpURLConnection connection = open(new URL(request.url));
        boolean isDone = false;
        try {
            prepare(connection, request);
            IOException failure = write(connection, request);
            Response response = read(connection, failure);
            isDone = true;
            return response;
        } finally {
            if (!isDone) {
                connection.disconnect();
            }
        }
    }

    private static void prepare(HttpURLConnection connection, Request request)
            throws IOException {
        connection.setRequestMethod(request.method);
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        if (request.timeout > 0) {
            connection.setConnectTimeout(request.timeout);
            connection.setReadTimeout(request.timeout);
        }
        for (Request.Header header : request.headers) {
            connection.setRequestProperty(header.name, header.value);
        }
    }

    /**
     * Writes the body. Returns the failure if the connection broke: the gateway may have refused
     * the request before it read everything.
     */
    private static IOException write(HttpURLConnection connection, Request request)
            throws IOException {
        Body body = request.body;
        if (body == null && !request.method.equals("POST")) {
            return null;
        }
        connection.setDoOutput(true);
        // A body that is streamed is not sent again on another connection, unasked.
        long length = body == null ? 0 : body.length();
        if (length < 0) {
            connection.setChunkedStreamingMode(0);
        } else {
            connection.setFixedLengthStreamingMode(length);
        }
        OutputStream out = connection.getOutputStream();
        try {
            if (body != null) {
                body.writeTo(out);
            }
            out.close();
            return null;
        } catch (IOException error) {
            return error;
        }
    }

    private static Response read(HttpURLConnection connection, IOException failure)
            throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        int status;
        try {
            status = connection.getResponseCode();
            InputStream in =
                    status >= 400 ? connection.getErrorStream() : connection.getInputStream();
            if (in != null) {
                try {
                    Body.copy(in, body);
                } finally {
                    in.close();
                }
            }
        } catch (HttpRetryException error) {
            // Java itself keeps the document of a 401 back if the body was streamed. The headers
            // have what matters.
            status = error.responseCode();
        } catch (IOException error) {
            throw failure != null ? failure : error;
        }
        if (status < 0) {
            throw new IOException("no answer of HTTP");
        }
        return new Response(status, connection.getHeaderFields(), body.toByteArray());
    }
}
