package dev.sallyport.client;

import java.io.IOException;

/** Carries requests: {@link ConnectionTransport}, an {@code OkHttpTransport}, or a double. */
public interface Transport {
    /**
     * Sends a request once and reads the whole answer. It follows no redirection, because an
     * assertion is for one target only, and repeats nothing by itself.
     */
    Response send(Request request) throws IOException;
}
