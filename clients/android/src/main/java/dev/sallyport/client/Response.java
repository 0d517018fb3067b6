package dev.sallyport.client;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** An answer. */
public final class Response {
    public final int status;
    private final Map<String, List<String>> headers;
    /** The body; empty if there is none. */
    public final byte[] body;

    public Response(int status, Map<String, List<String>> headers, byte[] body) {
        this.status = status;
        this.headers = headers;
        this.body = body;
    }

    /**
     * The value of a header, whatever the case of its name; null if there is none. Several values
     * are joined by commas.
     */
    public String header(String name) {
        StringBuilder joined = null;
        for (Map.Entry<String, List<String>> header : headers.entrySet()) {
            // HttpURLConnection has the status line under the name null.
            if (!name.equalsIgnoreCase(header.getKey())) {
                continue;
            }
            for (String value : header.getValue()) {
                joined = joined == null ? new StringBuilder() : joined.append(", ");
                joined.append(value);
            }
        }
        return joined == null ? null : joined.toString();
    }

    /** The body as a text in UTF-8. */
    public String text() {
        return new String(body, StandardCharsets.UTF_8);
    }

    /** True if the gateway advises to update the app, which still works for a while. */
    public boolean advisesUpdate() {
        return Refusal.Action.UPDATE_APP.word.equals(header(HeaderName.ACTION));
    }
}
