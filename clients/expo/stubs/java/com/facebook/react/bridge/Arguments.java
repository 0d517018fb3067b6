package com.facebook.react.bridge;

import java.util.ArrayList;
import java.util.HashMap;

/** Makes collections that a test can read. */
public final class Arguments {
    private static final class Texts extends ArrayList<String> implements WritableArray {
        private static final long serialVersionUID = 1;

        @Override
        public void pushString(String value) {
            add(value);
        }
    }

    private static final class Members extends HashMap<String, String> implements WritableMap {
        private static final long serialVersionUID = 1;

        @Override
        public void putString(String key, String value) {
            put(key, value);
        }
    }

    private Arguments() {}

    public static WritableArray createArray() {
        return new Texts();
    }

    public static WritableMap createMap() {
        return new Members();
    }
}
