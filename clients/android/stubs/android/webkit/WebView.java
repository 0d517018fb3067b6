package android.webkit;

/** What docs/client/web.md uses of it. */
public class WebView {
    public boolean post(Runnable action) {
        throw new UnsupportedOperationException();
    }
}
