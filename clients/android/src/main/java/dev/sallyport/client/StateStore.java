package dev.sallyport.client;

import java.io.IOException;

/**
 * A store for the state of an enrolment. The state belongs to one installation on one phone: leave
 * it out of backups, because keys are in none.
 */
public interface StateStore {
    /** Returns the text that was saved last; null if there is none. */
    String load() throws IOException;

    /** Saves a text of at most 64 KiB, completely or not at all. */
    void save(String text) throws IOException;

    /** Keeps the state for as long as the process runs: for tests. */
    final class Memory implements StateStore {
        private String text;

        @Override
        public synchronized String load() {
            return text;
        }

        @Override
        public synchronized void save(String text) {
            this.text = text;
        }
    }
}
