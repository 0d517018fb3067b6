package okhttp3;

import java.io.IOException;
import okio.Timeout;

public interface Call {
    Response execute() throws IOException;

    Timeout timeout();

    interface Factory {
        Call newCall(Request request);
    }
}
