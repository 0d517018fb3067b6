package androidx.webkit;

/** The way back to a page. */
public abstract class JavaScriptReplyProxy {
    public abstract void postMessage(String message);
}
