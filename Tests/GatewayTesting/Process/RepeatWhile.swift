import Foundation

/// Calls `step` for as long as `condition` holds. Throws if it holds for
/// ``ChildProcess/patience``: a test waits in this way for what no event tells.
public func repeatWhile(
    _ condition: @autoclosure () throws -> Bool, file: String = #fileID, line: Int = #line,
    _ step: () throws -> Void
) throws {
    let limit = ChildProcess.deadline
    while try condition() {
        guard Date() < limit else {
            throw EndlessLoop(description: "\(file):\(line) repeats without an end")
        }
        try step()
    }
}

/// Waits for as long as `condition` holds, and looks at it every 20 ms. Throws after
/// ``ChildProcess/patience``.
public func waitWhile(
    _ condition: @autoclosure () throws -> Bool, file: String = #fileID, line: Int = #line
) throws {
    try repeatWhile(try condition(), file: file, line: line) { _ = poll(nil, 0, 20) }
}

public struct EndlessLoop: Error, CustomStringConvertible {
    public let description: String
}
