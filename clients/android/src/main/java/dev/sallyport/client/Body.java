package dev.sallyport.client;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The body of a request. It is written at least twice, once for its digest and once for each
 * attempt to send it, and must be the same each time.
 */
public abstract class Body {
    /** The number of bytes; -1 if it is not known. */
    public abstract long length();

    /** Writes all bytes. Does not close {@code out}. */
    public abstract void writeTo(OutputStream out) throws IOException;

    public static Body of(byte[] bytes) {
        return new Bytes(bytes);
    }

    /** A text in UTF-8. */
    public static Body of(String text) {
        return new Bytes(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A file that does not change until the request has been answered. It is read in pieces. */
    public static Body of(File file) {
        return new Body() {
            @Override
            public long length() {
                return file.length();
            }

            @Override
            public void writeTo(OutputStream out) throws IOException {
                try (InputStream in = new FileInputStream(file)) {
                    copy(in, out);
                }
            }
        };
    }

    /** The bytes of a body that is in memory; null for any other. */
    byte[] bytes() {
        return null;
    }

    private static final class Bytes extends Body {
        private final byte[] bytes;

        Bytes(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public long length() {
            return bytes.length;
        }

        @Override
        public void writeTo(OutputStream out) throws IOException {
            out.write(bytes);
        }

        @Override
        byte[] bytes() {
            return bytes;
        }
    }

    /** The SHA-256 of a body; of no bytes if it is null. */
    static byte[] digest(Body body) throws IOException {
        MessageDigest digest = sha256();
        if (body != null) {
            body.writeTo(new OutputStream() {
                @Override
                public void write(int value) {
                    digest.update((byte) value);
                }

                @Override
                public void write(byte[] bytes, int offset, int count) {
                    digest.update(bytes, offset, count);
                }
            });
        }
        return digest.digest();
    }

    static byte[] sha256(byte[] bytes) {
        return sha256().digest(bytes);
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }

    static void copy(InputStream in, OutputStream out) throws IOException {
        byte[] piece = new byte[64 * 1024];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            out.write(piece, 0, count);
        }
    }
}
