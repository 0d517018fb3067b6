package dev.sallyport.client;

import java.io.IOException;
import java.io.InterruptedIOException;

/** Runs one piece of work at a time. Callers that come meanwhile share its outcome. */
final class SingleFlight<T> {
    interface Work<T> {
        T run() throws IOException;
    }

    private static final class Flight<T> {
        boolean isOver;
        /** True if its thread was interrupted, which is no failure of the work. */
        boolean isAborted;
        T value;
        IOException failure;
    }

    private Flight<T> current;

    T run(Work<T> work) throws IOException {
        while (true) {
            Flight<T> flight;
            boolean leads;
            synchronized (this) {
                leads = current == null;
                if (leads) {
                    current = new Flight<>();
                }
                flight = current;
            }
            if (leads) {
                return lead(flight, work);
            }
            follow(flight);
            if (flight.failure != null) {
                throw flight.failure;
            }
            if (!flight.isAborted) {
                return flight.value;
            }
        }
    }

    private T lead(Flight<T> flight, Work<T> work) throws IOException {
        T value = null;
        IOException failure = null;
        boolean isDone = false;
        try {
            value = work.run();
            isDone = true;
            return value;
        } catch (IOException error) {
            isDone = !Thread.currentThread().isInterrupted();
            failure = isDone ? error : null;
            throw error;
        } finally {
            synchronized (this) {
                flight.value = value;
                flight.failure = failure;
                flight.isAborted = !isDone;
                flight.isOver = true;
                current = null;
                notifyAll();
            }
        }
    }

    private synchronized void follow(Flight<T> flight) throws InterruptedIOException {
        try {
            while (!flight.isOver) {
                wait();
            }
        } catch (InterruptedException error) {
            throw interrupted();
        }
    }

    /** Waits for the end of the work under way, if there is any. */
    void awaitEnd() throws InterruptedIOException {
        Flight<T> flight;
        synchronized (this) {
            flight = current;
        }
        if (flight != null) {
            follow(flight);
        }
    }

    synchronized boolean isIdle() {
        return current == null;
    }

    /** The error of a thread that was interrupted while it waited. */
    static InterruptedIOException interrupted() {
        Thread.currentThread().interrupt();
        return new InterruptedIOException("interrupted");
    }
}
