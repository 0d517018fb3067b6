package dev.sallyport.client;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Keeps the state in a file. Use a file below {@code Context.getNoBackupFilesDir()}, whose folder
 * exists. Processes of one app must not share it.
 */
public final class FileStore implements StateStore {
    private final File file;

    public FileStore(File file) {
        this.file = file;
    }

    @Override
    public synchronized String load() throws IOException {
        if (!file.exists()) {
            // It may be there and out of reach. A client without a state would make another key.
            String[] names = file.getAbsoluteFile().getParentFile().list();
            if (names == null || Arrays.asList(names).contains(file.getName())) {
                throw new IOException("cannot read " + file);
            }
            return null;
        }
        try (InputStream in = new FileInputStream(file)) {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            Body.copy(in, out);
            return new String(out.toByteArray(), StandardCharsets.UTF_8);
        }
    }

    @Override
    public synchronized void save(String text) throws IOException {
        File fresh = new File(file.getPath() + ".new");
        try (FileOutputStream out = new FileOutputStream(fresh)) {
            out.write(text.getBytes(StandardCharsets.UTF_8));
            out.getFD().sync();
        }
        if (!fresh.renameTo(file)) {
            throw new IOException("cannot rename " + fresh);
        }
    }
}
