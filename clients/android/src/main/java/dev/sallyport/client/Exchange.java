package dev.sallyport.client;

import java.io.IOException;

/** Sends a request of the app by one kind of HTTP client. */
interface Exchange<T> {
    Answer<T> send(Request request) throws IOException;

    /** Releases an answer that the app does not get. */
    default void discard(T content) {}
}
