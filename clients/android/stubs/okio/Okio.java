package okio;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;

public final class Okio {
    private Okio() {}

    public static Sink sink(OutputStream out) {
        return new StreamSink(out);
    }

    public static BufferedSink buffer(Sink sink) {
        return new StreamSink(new BufferedOutputStream(((StreamSink) sink).out));
    }

    private static final class StreamSink implements BufferedSink {
        final OutputStream out;

        StreamSink(OutputStream out) {
            this.out = out;
        }

        @Override
        public BufferedSink write(byte[] bytes) throws IOException {
            out.write(bytes);
            return this;
        }

        @Override
        public OutputStream outputStream() {
            return out;
        }

        @Override
        public void flush() throws IOException {
            out.flush();
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }
}
