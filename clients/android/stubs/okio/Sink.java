package okio;

import java.io.Closeable;
import java.io.IOException;

public interface Sink extends Closeable {
    void flush() throws IOException;
}
