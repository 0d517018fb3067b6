package okio;

import java.io.IOException;
import java.io.OutputStream;

public interface BufferedSink extends Sink {
    BufferedSink write(byte[] bytes) throws IOException;

    OutputStream outputStream();
}
