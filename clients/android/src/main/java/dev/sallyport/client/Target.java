package dev.sallyport.client;

import java.util.Locale;

/** The parts of a URL as they are sent. */
final class Target {
    /** Scheme, host and port, in lower case and without the scheme's own port. */
    final String origin;
    final String path;
    final String query;

    private Target(String origin, String path, String query) {
        this.origin = origin;
        this.path = path;
        this.query = query;
    }

    /** @throws IllegalArgumentException if it is not an http or https URL. */
    static Target of(String url) {
        String lower = url.toLowerCase(Locale.ROOT);
        int start = lower.startsWith("https://") ? 8 : lower.startsWith("http://") ? 7 : -1;
        int end = start;
        while (start > 0 && end < url.length() && "/?#".indexOf(url.charAt(end)) < 0) {
            end++;
        }
        if (start < 0 || end == start) {
            throw new IllegalArgumentException("not an http or https URL");
        }
        int fragment = url.indexOf('#', end);
        String target = fragment < 0 ? url.substring(end) : url.substring(end, fragment);
        int mark = target.indexOf('?');
        String path = mark < 0 ? target : target.substring(0, mark);
        String origin = lower.substring(0, end);
        String port = lower.startsWith("https:") ? ":443" : ":80";
        return new Target(
                origin.endsWith(port)
                        ? origin.substring(0, origin.length() - port.length()) : origin,
                path.isEmpty() ? "/" : path,
                mark < 0 ? "" : target.substring(mark + 1));
    }
}
