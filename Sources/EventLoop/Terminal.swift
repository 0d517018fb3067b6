import CLibevent
import CLinux

/// The terminal that a descriptor leads to, if it leads to one.
public enum Terminal {
    public static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

    /// The width in columns; nil if there is no terminal, or if it does not tell.
    public static func columnCount(_ descriptor: Int32) -> Int? {
        let count = sallyport_columns(descriptor)
        return count > 0 ? Int(count) : nil
    }
}
