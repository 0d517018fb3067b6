public import EventLoop

/// The reason why the floors of a file were not taken over.
public enum FloorFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file could not be read, so that its content is not known. It stays where it is.
    case unreadable(IOError)
    /// The file was read, and is not one of this gateway's, or is of another version.
    case foreign(path: String)
    /// The file belongs to a user who may not write to the registry either.
    case untrusted(path: String)

    public var description: String {
        switch self {
        case .unreadable(let error): error.description
        case .foreign(let path): "\(path): is another kind of file, or comes from another version"
        case .untrusted(let path): "\(path): belongs to a user who may not write to the registry"
        }
    }
}
