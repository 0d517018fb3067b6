package dev.sallyport.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON (RFC 8259), as much as the client needs. Objects are maps in their order, numbers doubles.
 */
final class Json {
    /** A text is not JSON. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1;

        Malformed(String message) {
            super(message);
        }
    }

    private static final int DEPTH_MAX = 64;

    private final String text;
    private int index;

    private Json(String text) {
        this.text = text;
    }

    // Reading

    /** Parses an object without repeated members. */
    static Map<String, Object> object(String text) throws Malformed {
        Json json = new Json(text);
        json.skipSpace();
        Map<String, Object> object = json.members(0);
        json.skipSpace();
        if (json.index < text.length()) {
            throw json.malformed();
        }
        return object;
    }

    /** A member that is a text; null for any other. */
    static String string(Map<String, Object> object, String name) {
        Object value = object.get(name);
        return value instanceof String ? (String) value : null;
    }

    /** A member that is a number; null for any other. */
    static Double number(Map<String, Object> object, String name) {
        Object value = object.get(name);
        return value instanceof Double ? (Double) value : null;
    }

    /** A member that is an object; null for any other. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Map<String, Object> object, String name) {
        Object value = object.get(name);
        return value instanceof Map ? (Map<String, Object>) value : null;
    }

    private Malformed malformed() {
        return new Malformed("not JSON at " + index);
    }

    private char next() throws Malformed {
        if (index >= text.length()) {
            throw malformed();
        }
        return text.charAt(index);
    }

    private void skipSpace() {
        while (index < text.length() && " \t\r\n".indexOf(text.charAt(index)) >= 0) {
            index++;
        }
    }

    private void expect(String word) throws Malformed {
        if (!text.startsWith(word, index)) {
            throw malformed();
        }
        index += word.length();
    }

    private Object value(int depth) throws Malformed {
        if (depth > DEPTH_MAX) {
            throw malformed();
        }
        switch (next()) {
            case '{':
                return members(depth);
            case '[':
                return elements(depth);
            case '"':
                return string();
            case 't':
                expect("true");
                return true;
            case 'f':
                expect("false");
                return false;
            case 'n':
                expect("null");
                return null;
            default:
                return number();
        }
    }

    private Map<String, Object> members(int depth) throws Malformed {
        Map<String, Object> object = new LinkedHashMap<>();
        expect("{");
        skipSpace();
        if (next() == '}') {
            index++;
            return object;
        }
        while (true) {
            skipSpace();
            String name = string();
            skipSpace();
            expect(":");
            skipSpace();
            if (object.containsKey(name)) {
                throw malformed();
            }
            object.put(name, value(depth + 1));
            skipSpace();
            if (next() == '}') {
                index++;
                return object;
            }
            expect(",");
        }
    }

    private List<Object> elements(int depth) throws Malformed {
        List<Object> array = new ArrayList<>();
        expect("[");
        skipSpace();
        if (next() == ']') {
            index++;
            return array;
        }
        while (true) {
            skipSpace();
            array.add(value(depth + 1));
            skipSpace();
            if (next() == ']') {
                index++;
                return array;
            }
            expect(",");
        }
    }

    private String string() throws Malformed {
        expect("\"");
        StringBuilder out = new StringBuilder();
        while (true) {
            char unit = next();
            if (unit < ' ') {
                throw malformed();
            }
            index++;
            if (unit == '"') {
                return out.toString();
            }
            out.append(unit == '\\' ? escaped() : unit);
        }
    }

    private char escaped() throws Malformed {
        char unit = next();
        int escape = "\"\\/bfnrt".indexOf(unit);
        if (escape >= 0) {
            index++;
            return "\"\\/\b\f\n\r\t".charAt(escape);
        }
        expect("u");
        int code = 0;
        for (int digit = 0; digit < 4; digit++) {
            char letter = next();
            int value = letter < 128 ? Character.digit(letter, 16) : -1;
            if (value < 0) {
                throw malformed();
            }
            code = code * 16 + value;
            index++;
        }
        return (char) code;
    }

    private Double number() throws Malformed {
        int start = index;
        if (next() == '-') {
            index++;
        }
        if (next() == '0') {
            index++;
        } else {
            digits();
        }
        if (index < text.length() && text.charAt(index) == '.') {
            index++;
            digits();
        }
        if (index < text.length() && (text.charAt(index) | 0x20) == 'e') {
            index++;
            if (next() == '+' || next() == '-') {
                index++;
            }
            digits();
        }
        return Double.valueOf(text.substring(start, index));
    }

    private void digits() throws Malformed {
        int start = index;
        while (index < text.length() && text.charAt(index) >= '0' && text.charAt(index) <= '9') {
            index++;
        }
        if (index == start) {
            throw malformed();
        }
    }

    // Writing

    /** Writes maps, lists, texts, numbers, booleans and null. */
    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(value, out);
        return out.toString();
    }

    private static void write(Object value, StringBuilder out) {
        if (value instanceof Map) {
            String separator = "{";
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                out.append(separator);
                write(member.getKey(), out);
                out.append(':');
                write(member.getValue(), out);
                separator = ",";
            }
            out.append(separator.equals("{") ? "{}" : "}");
        } else if (value instanceof List) {
            String separator = "[";
            for (Object element : (List<?>) value) {
                out.append(separator);
                write(element, out);
                separator = ",";
            }
            out.append(separator.equals("[") ? "[]" : "]");
        } else if (value instanceof String) {
            quote((String) value, out);
        } else {
            out.append(value);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char unit = text.charAt(index);
            if (unit == '"' || unit == '\\') {
                out.append('\\').append(unit);
            } else if (unit < ' ') {
                String hex = Integer.toHexString(unit);
                out.append(unit < 16 ? "\\u000" : "\\u00").append(hex);
            } else {
                out.append(unit);
            }
        }
        out.append('"');
    }
}
