package dev.sallyport.client;

import android.content.SharedPreferences;
import java.util.HashMap;
import java.util.Map;

/** Preferences in memory, which may be locked as before the first unlock. */
final class FakePreferences implements SharedPreferences, SharedPreferences.Editor {
    private final Map<String, String> values = new HashMap<>();
    boolean isLocked;

    @Override
    public String getString(String key, String defValue) {
        if (isLocked) {
            throw new IllegalStateException("locked");
        }
        return values.getOrDefault(key, defValue);
    }

    @Override
    public Editor edit() {
        return this;
    }

    @Override
    public Editor putString(String key, String value) {
        if (!isLocked) {
            values.put(key, value);
        }
        return this;
    }

    @Override
    public boolean commit() {
        return !isLocked;
    }
}
