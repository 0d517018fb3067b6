package com.facebook.react.bridge;

public interface WritableArray {
    void pushString(String value);
}
