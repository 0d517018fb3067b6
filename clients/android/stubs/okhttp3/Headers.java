package okhttp3;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

public final class Headers {
    private final Map<String, List<String>> values = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);

    void set(String name, String value) {
        values.remove(name);
        add(name, value);
    }

    void add(String name, String value) {
        values.computeIfAbsent(name, key -> new ArrayList<>()).add(value);
    }

    public List<String> values(String name) {
        return values.getOrDefault(name, new ArrayList<>());
    }

    public String get(String name) {
        List<String> all = values(name);
        return all.isEmpty() ? null : all.get(all.size() - 1);
    }

    public Map<String, List<String>> toMultimap() {
        return values;
    }

    Headers copy() {
        Headers copy = new Headers();
        values.forEach((name, all) -> copy.values.put(name, new ArrayList<>(all)));
        return copy;
    }
}
