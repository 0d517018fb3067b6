package okhttp3;

import java.io.IOException;

public class ResponseBody {
    private final byte[] bytes;

    public ResponseBody(byte[] bytes) {
        this.bytes = bytes;
    }

    public byte[] bytes() throws IOException {
        return bytes;
    }
}
