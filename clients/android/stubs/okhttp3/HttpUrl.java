package okhttp3;

public final class HttpUrl {
    private final String text;

    HttpUrl(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
