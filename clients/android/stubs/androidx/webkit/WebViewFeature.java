package androidx.webkit;

/** What docs/client/web.md uses of it. */
public class WebViewFeature {
    public static final String WEB_MESSAGE_LISTENER = "WEB_MESSAGE_LISTENER";

    private WebViewFeature() {}

    public static boolean isFeatureSupported(String feature) {
        throw new UnsupportedOperationException();
    }
}
