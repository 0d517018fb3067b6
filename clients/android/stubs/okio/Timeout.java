package okio;

import java.util.concurrent.TimeUnit;

public class Timeout {
    public Timeout timeout(long timeout, TimeUnit unit) {
        return this;
    }
}
