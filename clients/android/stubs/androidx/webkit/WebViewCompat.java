package androidx.webkit;

import android.net.Uri;
import android.webkit.WebView;
import java.util.Set;

/** What docs/client/web.md uses of it. */
public class WebViewCompat {
    private WebViewCompat() {}

    public interface WebMessageListener {
        void onPostMessage(
                WebView view, WebMessageCompat message, Uri sourceOrigin, boolean isMainFrame,
                JavaScriptReplyProxy replyProxy);
    }

    public static void addWebMessageListener(
            WebView webView, String jsObjectName, Set<String> allowedOriginRules,
            WebMessageListener listener) {
        throw new UnsupportedOperationException();
    }
}
