package dev.sallyport.client;

import java.util.ArrayList;
import java.util.List;

/** A clock that stands still but for those who sleep, and notes for how long they did. */
final class TestClock implements ClientClock {
    private long now = 1_800_000_000_000L;
    final List<Double> sleeps = new ArrayList<>();

    synchronized void advance(double seconds) {
        now += (long) (seconds * 1000);
    }

    @Override
    public synchronized long now() {
        return now;
    }

    @Override
    public synchronized void sleep(long milliseconds) {
        sleeps.add(milliseconds / 1000.0);
        now += milliseconds;
    }

    @Override
    public double chance() {
        return 0;
    }
}
