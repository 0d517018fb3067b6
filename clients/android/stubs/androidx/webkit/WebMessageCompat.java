package androidx.webkit;

/** A message of a page. */
public class WebMessageCompat {
    public String getData() {
        return "";
    }
}
