// A stand-in for Expo's module of this name, as far as SallyportModule needs it. Its functions can
// be called by tests.

public final class AppContext: Sendable {
    public init() {}
}

/// A function of a module, by its name.
public struct FunctionDefinition: @unchecked Sendable {
    public let name: String
    let call: ([String]) async throws -> Any?
}

public struct ModuleDefinition: Sendable {
    public let functions: [FunctionDefinition]

    /// Calls a function as JavaScript does.
    public func call(_ name: String, _ arguments: String...) async throws -> Any? {
        guard let function = functions.first(where: { $0.name == name }) else {
            throw Exception(name: "NoFunction", description: name)
        }
        return try await function.call(arguments)
    }
}

@resultBuilder
public enum ModuleDefinitionBuilder {
    public static func buildBlock(_ functions: FunctionDefinition?...) -> ModuleDefinition {
        ModuleDefinition(functions: functions.compactMap(\.self))
    }
}

public protocol AnyModule {
    init(appContext: AppContext)

    @ModuleDefinitionBuilder
    func definition() -> ModuleDefinition
}

open class BaseModule {
    public required init(appContext: AppContext) {}
}

public typealias Module = AnyModule & BaseModule

// swift-format-ignore: AlwaysUseLowerCamelCase
public func Name(_ name: String) -> FunctionDefinition? { nil }

// swift-format-ignore: AlwaysUseLowerCamelCase
public func AsyncFunction<Value>(
    _ name: String, _ body: @escaping () async throws -> Value
) -> FunctionDefinition? {
    FunctionDefinition(name: name) { _ in try await body() }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func AsyncFunction<Value>(
    _ name: String, _ body: @escaping (String) async throws -> Value
) -> FunctionDefinition? {
    FunctionDefinition(name: name) { try await body($0[0]) }
}

// swift-format-ignore: AlwaysUseLowerCamelCase
public func AsyncFunction<Value>(
    _ name: String, _ body: @escaping (String, String) async throws -> Value
) -> FunctionDefinition? {
    FunctionDefinition(name: name) { try await body($0[0], $0[1]) }
}

open class Exception: Error, @unchecked Sendable {
    public let name: String
    public let description: String
    public let code: String

    public init(name: String, description: String, code: String? = nil) {
        self.name = name
        self.description = description
        self.code = code ?? name
    }
}
