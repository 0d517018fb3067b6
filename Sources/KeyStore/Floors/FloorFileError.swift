public import EventLoop

/// The reason why the floors of a file were not taken over.
public enum FloorFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could not be looked at, which says nothing about what it holds. It stays where it is.
    case unreadable(IOError)
    /// It was read, and is no file of this gateway, or that of another version.
    case foreign(path: String)
    /// It belongs to a user who may not write to the registry either.
    case untrusted(path: String)

    public var description: String {
        switch self {
        case .unreadable(let error): error.description
        case .foreign(let path): "\(path): is another kind of file, or comes from another version"
        case .untrusted(let path): "\(path): belongs to a user who may not write to the registry"
        }
    }
}
