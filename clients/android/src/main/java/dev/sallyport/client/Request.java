package dev.sallyport.client;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** A request. Immutable: each {@code with} method returns a copy. */
public final class Request {
    /** A header. */
    public static final class Header {
        public final String name;
        public final String value;

        Header(String name, String value) {
            this.name = name;
            this.value = value;
        }
    }

    public final String method;
    /** The URL with its path and query exactly as they are sent. */
    public final String url;
    public final List<Header> headers;
    /** Null if there is none. */
    public final Body body;
    /** The time that the request may take, in milliseconds; 0 for the transport's own. */
    final int timeout;

    private Request(String method, String url, List<Header> headers, Body body, int timeout) {
        this.method = method;
        this.url = url;
        this.headers = Collections.unmodifiableList(headers);
        this.body = body;
        this.timeout = timeout;
    }

    /**
     * @param url Percent-encoded, as it is to be sent.
     * @param body Null for none.
     */
    public Request(String method, String url, Body body) {
        this(method, url, new ArrayList<Header>(), body, 0);
    }

    public static Request get(String url) {
        return new Request("GET", url, null);
    }

    public static Request post(String url, Body body) {
        return new Request("POST", url, body);
    }

    /** The request with this header, in place of all of the same name. */
    public Request withHeader(String name, String value) {
        List<Header> headers = new ArrayList<>();
        for (Header header : this.headers) {
            if (!header.name.equalsIgnoreCase(name)) {
                headers.add(header);
            }
        }
        headers.add(new Header(name, value));
        return new Request(method, url, headers, body, timeout);
    }

    public Request withBody(Body body) {
        return new Request(method, url, headers, body, timeout);
    }

    Request withTimeout(int milliseconds) {
        return new Request(method, url, headers, body, milliseconds);
    }

    /** The value of a header, whatever the case of its name; null if there is none. */
    public String header(String name) {
        for (Header header : headers) {
            if (header.name.equalsIgnoreCase(name)) {
                return header.value;
            }
        }
        return null;
    }
}
