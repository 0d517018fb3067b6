package dev.sallyport.client;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

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

    /** In upper case, in which it is signed. */
    public final String method;
    /** The URL with its path and query exactly as they are sent. */
    public final String url;
    public final List<Header> headers;
    /** Null if there is none. */
    public final Body body;
    /** The time that the request may take, in milliseconds; 0 for the transport's own. */
    final int timeout;

    private Request(String method, String url, List<Header> headers, Body body, int timeout) {
        this.method = method.toUpperCase(Locale.ROOT);
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

    /** Fails if a platform sends such a request in another form than the one that is signed. */
    void requireSendable() throws ClientException.InvalidRequest {
        Target target = ClientData.target(this);
        try {
            // Some platforms send an apostrophe in a query in another spelling.
            if (!new URI(url).toASCIIString().equals(url) || target.query.indexOf('\'') >= 0) {
                throw new ClientException.InvalidRequest("the URL is not percent-encoded");
            }
        } catch (URISyntaxException error) {
            throw new ClientException.InvalidRequest("the URL is not valid");
        }
        for (String segment : target.path.split("/")) {
            if (segment.matches("(?i)(\\.|%2e){1,2}")) {
                throw new ClientException.InvalidRequest("the path has a dot segment");
            }
        }
        if (body != null && (method.equals("GET") || method.equals("HEAD"))) {
            throw new ClientException.InvalidRequest("GET and HEAD have no body");
        }
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
