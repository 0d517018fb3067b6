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

    /** The bytes of a text with padding, in the standard alphabet; null if it is no such text. */
    static byte[] decode(String text) {
        if (!text.matches("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")) {
            return null;
        }
        int padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
        byte[] bytes = new byte[text.length() / 4 * 3 - padding];
        for (int start = 0; start < text.length(); start += 4) {
            int group = 0;
            for (int index = start; index < start + 4; index++) {
                char letter = text.charAt(index);
                group = group << 6 | (letter == '=' ? 0 : new String(ALPHABET).indexOf(letter));
            }
            int index = start / 4 * 3;
            for (int offset = 0; offset < 3 && index + offset < bytes.length; offset++) {
                bytes[index + offset] = (byte) (group >> (16 - 8 * offset));
            }
        }
        return bytes;
    }

    /** Base64 in the alphabet that URLs do not escape, without padding. */
    static String urlSafe(String base64) {
        return base64.replace('+', '-').replace('/', '_').replace("=", "");
    }
}
