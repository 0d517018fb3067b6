package dev.sallyport.client;

import java.util.concurrent.ThreadLocalRandom;

/** Time and randomness, which tests control. */
public interface ClientClock {
    /** The time in milliseconds since 1970. */
    long now();

    /** Waits for this many milliseconds. */
    void sleep(long milliseconds) throws InterruptedException;

    /** A number from 0 to 1. */
    double chance();

    /** The clock of the system. */
    ClientClock SYSTEM = new ClientClock() {
        @Override
        public long now() {
            return System.currentTimeMillis();
        }

        @Override
        public void sleep(long milliseconds) throws InterruptedException {
            Thread.sleep(milliseconds);
        }

        @Override
        public double chance() {
            return ThreadLocalRandom.current().nextDouble();
        }
    };
}
