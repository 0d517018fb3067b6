package okhttp3;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

public final class Response implements Closeable {
    private final int code;
    private final Headers headers = new Headers();
    private final byte[] body;
    public boolean isClosed;

    /** For tests. */
    public Response(int code, byte[] body) {
        this.code = code;
        this.body = body;
    }

    /** For tests. */
    public void add(String name, String value) {
        headers.add(name, value);
    }

    public int code() {
        return code;
    }

    public Headers headers() {
        return headers;
    }

    public List<String> headers(String name) {
        return headers.values(name);
    }

    public String header(String name) {
        return headers.get(name);
    }

    public ResponseBody body() {
        return new ResponseBody(body);
    }

    public ResponseBody peekBody(long count) throws IOException {
        return new ResponseBody(Arrays.copyOf(body, (int) Math.min(count, body.length)));
    }

    @Override
    public void close() {
        isClosed = true;
    }
}
