package dev.sallyport.client;

/** Base64 (RFC 4648). {@code java.util.Base64} exists from Android 8 on. */
final class Base64 {
    private static final char[] ALPHABET =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".toCharArray();

    private Base64() {}

    /** Encodes with padding, in the standard alphabet. */
    static String encode(byte[] bytes) {
        StringBuilder text = new StringBuilder((bytes.length + 2) / 3 * 4);
        for (int index = 0; index < bytes.length; index += 3) {
            int count = Math.min(3, bytes.length - index);
            int group = 0;
            for (int offset = 0; offset < 3; offset++) {
                group = group << 8 | (offset < count ? bytes[index + offset] & 0xFF : 0);
            }
            for (int digit = 0; digit < 4; digit++) {
                text.append(digit <= count ? ALPHABET[group >> (18 - 6 * digit) & 63] : '=');
            }
        }
        return text.toString();
    }

    /** Base64 in the alphabet that URLs do not escape, without padding. */
    static String urlSafe(String base64) {
        return base64.replace('+', '-').replace('/', '_').replace("=", "");
    }
}
