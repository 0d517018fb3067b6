// swift-tools-version: 6.2
// The manifest is the diagram of layers: a target may depend on lower tiers, never on higher ones.
import PackageDescription

let common: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableExperimentalFeature("Lifetimes"),
    .treatAllWarnings(as: .error),
]
/// For everything that runs: every unsafe step is marked.
let strict = common + [.strictMemorySafety()]

func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}
/// The status page's own files, which become a part of the program.
let statusPage: [Resource] = [
    .embedInCode("Admin/Page/charts.js"), .embedInCode("Admin/Page/refusals.js"),
    .embedInCode("Admin/Page/status.css"), .embedInCode("Admin/Page/status.js"),
    .embedInCode("Admin/Page/tables.js"),
]
func tests(
    _ name: String, _ dependencies: [Target.Dependency], excluding files: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: files, swiftSettings: common)
}

let package = Package(
    name: "sallyport",
    products: [
        .executable(name: "sallyport", targets: ["sallyport"]),
        .executable(name: "sallyport-lab", targets: ["sallyport-lab"]),
        .library(name: "AppAttest", targets: ["AppAttest"]),
        .library(name: "AppAttestTesting", targets: ["AppAttestTesting", "AttestationTesting"]),
        .library(name: "AndroidAttestation", targets: ["AndroidAttestation"]),
        .library(
            name: "AndroidAttestationTesting",
            targets: ["AndroidAttestationTesting", "AttestationTesting"]),
        // For Fuzz/Package.swift.
        .library(name: "FuzzTargets", targets: ["FuzzTargets"]),
    ],
    targets: [
        // MARK: tier 0 - C
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CLibevent"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CCryptoMB"),
        .systemLibrary(name: "CHiredis"),
        .systemLibrary(name: "CSQLite"),
        .systemLibrary(name: "CPostgres"),
        .systemLibrary(name: "CYAML"),
        .systemLibrary(name: "CJansson"),
        .systemLibrary(name: "CNghttp2"),
        .systemLibrary(name: "CCurl"),

        // MARK: tier 1 - pure values
        library("Bytes"),
        library("CBOR", ["Bytes"]),
        library("DER", ["Bytes"]),
        library("HTTP", ["Bytes"]),
        library("Protobuf"),
        library("ProxyProtocol", ["Bytes"]),
        library("Telemetry", ["Bytes"]),

        // MARK: tier 2 - fences: the only targets that import C
        library("EventLoop", ["Bytes", "CLinux", "CLibevent"]),
        library("Crypto", ["Bytes", "COpenSSL", "CCryptoMB"]),
        library("HTTP2", ["Bytes", "CNghttp2"]),
        library("TLS", ["Bytes", "Crypto", "EventLoop", "COpenSSL"]),
        library("JSON", ["Bytes", "CJansson"]),
        library("YAML", ["CYAML"]),
        library("SQLite", ["Bytes", "EventLoop", "CSQLite"]),
        library("Postgres", ["EventLoop", "CPostgres"]),
        library("Redis", ["Bytes", "EventLoop", "TLS", "CHiredis"]),
        library("HTTPSClient", ["EventLoop", "TLS", "CCurl"]),

        // MARK: tier 3 - rules, and the stores behind their contract
        library("Attestation", ["Bytes", "Crypto", "JSON"]),
        library("AppAttest", ["Attestation", "Bytes", "CBOR", "Crypto", "DER", "JSON"]),
        library("AttestationTesting", ["Bytes", "Crypto", "JSON"]),
        library(
            "AppAttestTesting",
            [
                "AppAttest", "Attestation", "AttestationTesting", "Bytes", "CBOR", "Crypto", "DER",
                "JSON",
            ]),
        library("AndroidAttestation", ["Attestation", "Bytes", "CBOR", "Crypto", "DER", "JSON"]),
        library(
            "AndroidAttestationTesting",
            [
                "AndroidAttestation", "Attestation", "AttestationTesting", "Bytes", "CBOR",
                "Crypto", "DER", "JSON",
            ]),
        library("Policy", ["Bytes", "HTTP", "JSON"]),
        library("JWT", ["Bytes", "Crypto", "JSON"]),
        library(
            "AppleServices",
            [
                "AppAttest", "Attestation", "Bytes", "Crypto", "EventLoop", "HTTPSClient", "JSON",
                "JWT",
            ]),
        library("KeyStore", ["Attestation", "Bytes", "Crypto", "EventLoop"]),
        library("Questions", ["Bytes", "HTTP", "JSON", "Protobuf"]),
        library("OTLP", ["Bytes", "JSON", "Telemetry"]),
        library("GatewayTokens", ["Attestation", "Bytes", "Crypto", "JSON", "KeyStore"]),
        library(
            "Judgement", ["Attestation", "GatewayTokens", "HTTP", "JWT", "KeyStore", "Policy"]),
        library(
            "SQLiteKeyStore",
            ["KeyStore", "Attestation", "Bytes", "Crypto", "EventLoop", "SQLite"]),
        library(
            "RedisKeyStore", ["KeyStore", "Attestation", "Bytes", "Crypto", "EventLoop", "Redis"]),
        library(
            "PostgresKeyStore",
            ["KeyStore", "Attestation", "Bytes", "Crypto", "EventLoop", "Postgres"]),
        library(
            "Settings",
            [
                "AndroidAttestation", "AppAttest", "Attestation", "AppleServices", "Bytes",
                "Crypto", "GatewayTokens",
                "HTTP", "HTTP2",
                "HTTPSClient", "JSON", "JWT", "Policy", "TLS", "YAML",
            ]),

        // MARK: tier 4 - the gateway
        library(
            "Background",
            [
                "AndroidAttestation", "AppAttest", "AppleServices", "Attestation", "Bytes",
                "Crypto", "EventLoop", "HTTPSClient", "JSON", "JWT", "KeyStore", "OTLP", "Policy",
                "Settings", "Telemetry",
            ]),
        library(
            "Administration",
            [
                "Attestation", "Background", "Bytes", "Crypto", "EventLoop", "JSON", "KeyStore",
                "Policy", "Settings",
            ]),
        library(
            "Gateway",
            [
                "Administration", "AndroidAttestation", "AppAttest", "AppleServices",
                "Attestation", "Background", "Bytes", "Crypto", "EventLoop", "GatewayTokens",
                "HTTP", "HTTP2", "HTTPSClient", "JSON", "JWT", "Judgement",
                "KeyStore", "OTLP", "Policy", "ProxyProtocol", "Questions", "Settings", "TLS",
                "Telemetry",
            ], resources: statusPage),

        // MARK: tier 5 - commands
        .executableTarget(
            name: "sallyport",
            dependencies: [
                "Administration", "AndroidAttestation", "AppAttest", "Attestation", "AppleServices",
                "Background",
                "Bytes", "Crypto",
                "EventLoop", "Gateway", "GatewayTokens", "HTTP", "JSON", "Judgement", "KeyStore",
                "Policy", "Postgres", "PostgresKeyStore", "Redis", "RedisKeyStore",
                "SQLiteKeyStore", "Settings", "TLS",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "sallyport-lab",
            dependencies: [
                "AndroidAttestation", "AndroidAttestationTesting", "AppAttest", "Attestation",
                "AppAttestTesting", "Bytes", "Crypto", "EventLoop", "HTTP", "JSON", "Judgement",
                "TLS",
            ],
            swiftSettings: strict),

        // MARK: tests
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        .systemLibrary(name: "CFork", path: "Tests/CFork"),
        .systemLibrary(name: "CImports", path: "Tests/CImports"),
        // A program of its own: OpenSSL's allocator can be replaced before its first use alone.
        .executableTarget(
            name: "AllocationFailures",
            dependencies: [
                "Bytes", "CFork", "CImports", "CNghttp2", "COpenSSL", "Crypto", "EventLoop",
                "GatewayTesting", "HTTP2", "HTTPSClient", "JSON", "JWT", "Postgres", "Redis",
                "SQLite", "TLS", "YAML",
            ],
            path: "Tests/AllocationFailures",
            swiftSettings: common),
        .target(
            name: "GatewayTesting",
            dependencies: [
                "AndroidAttestationTesting", "AppAttest", "Attestation", "AppAttestTesting",
                "Bytes", "CNghttp2", "CSQLite",
                "CSpawn", "Crypto", "EventLoop", "JSON", "KeyStore", "Redis",
            ],
            path: "Tests/GatewayTesting",
            swiftSettings: common),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "AndroidAttestation", "AndroidAttestationTesting", "AppAttest", "Attestation",
                "AppAttestTesting", "Bytes", "CBOR", "Crypto", "GatewayTokens", "HTTP",
                "HTTP2", "JSON", "JWT", "KeyStore", "ProxyProtocol", "Questions", "Settings",
                "Telemetry",
            ],
            path: "Fuzz/Targets",
            swiftSettings: common),
        // The app's side, beside stand-ins for Apple's frameworks; clients/swift is a package.
        .target(name: "CryptoKit", path: "clients/swift/Stubs/CryptoKit"),
        .target(name: "DeviceCheck", path: "clients/swift/Stubs/DeviceCheck"),
        .target(name: "Security", path: "clients/swift/Stubs/Security"),
        .target(
            name: "SallyportClient", dependencies: ["CryptoKit", "DeviceCheck", "Security"],
            path: "clients/swift/Sources/SallyportClient"),
        // The client in other HTTP stacks, which stand-ins replace.
        .target(name: "Alamofire", path: "clients/swift/Stubs/Alamofire"),
        .target(name: "Apollo", path: "clients/swift/Stubs/Apollo"),
        .target(name: "GRPCCore", path: "clients/swift/Stubs/GRPCCore"),
        .target(name: "HTTPTypes", path: "clients/swift/Stubs/HTTPTypes"),
        .target(
            name: "OpenAPIRuntime", dependencies: ["HTTPTypes"],
            path: "clients/swift/Stubs/OpenAPIRuntime"),
        .target(
            name: "SallyportHTTPTypes", dependencies: ["HTTPTypes", "SallyportClient"],
            path: "clients/swift/Stacks/Sources/SallyportHTTPTypes"),
        .target(
            name: "SallyportOpenAPI",
            dependencies: ["HTTPTypes", "OpenAPIRuntime", "SallyportClient", "SallyportHTTPTypes"],
            path: "clients/swift/Stacks/Sources/SallyportOpenAPI"),
        .target(
            name: "StackInterceptors",
            dependencies: ["Alamofire", "Apollo", "GRPCCore", "SallyportClient"],
            path: "clients/swift/Stacks/Interceptors"),
        .target(name: "ExpoModulesCore", path: "clients/expo/stubs/ExpoModulesCore"),
        .target(
            name: "SallyportExpo",
            dependencies: ["CryptoKit", "DeviceCheck", "ExpoModulesCore", "SallyportClient"],
            path: "clients/expo/ios/SallyportExpo"),
        tests(
            "ClientTests",
            [
                "SallyportClient", "Alamofire", "Apollo", "Attestation", "AppAttestTesting",
                "Bytes", "Crypto", "CryptoKit", "DeviceCheck", "ExpoModulesCore", "GRPCCore",
                "GatewayTesting", "HTTPTypes", "OpenAPIRuntime", "SallyportExpo",
                "SallyportHTTPTypes", "SallyportOpenAPI", "StackInterceptors",
            ]),
        tests("FuzzTests", ["FuzzTargets"]),
        tests("BytesTests", ["Bytes"]),
        tests("CBORTests", ["CBOR", "Bytes"]),
        tests("HTTPTests", ["HTTP", "Bytes"]),
        tests("ProxyProtocolTests", ["ProxyProtocol", "Bytes"]),
        tests("TelemetryTests", ["Telemetry", "Bytes"]),
        tests("EventLoopTests", ["EventLoop", "Bytes"]),
        tests(
            "CryptoTests", ["Crypto", "AppAttestTesting", "Bytes", "GatewayTesting", "JSON"]),
        tests("HTTP2Tests", ["HTTP2", "Bytes"]),
        tests(
            "TLSTests", ["TLS", "Bytes", "CLinux", "COpenSSL", "EventLoop", "GatewayTesting"]),
        tests("HTTPSClientTests", ["HTTPSClient", "Bytes", "EventLoop", "GatewayTesting", "TLS"]),
        tests("JSONTests", ["JSON", "Bytes"]),
        tests("YAMLTests", ["YAML"]),
        tests("SQLiteTests", ["SQLite", "Bytes", "GatewayTesting"]),
        tests("RedisTests", ["Redis", "EventLoop", "Bytes", "GatewayTesting", "TLS"]),
        tests(
            "AppAttestTests",
            [
                "AppAttest", "Attestation", "AppAttestTesting", "AttestationTesting", "Bytes",
                "CBOR",
                "Crypto", "DER", "GatewayTesting", "JSON", "JWT",
            ]),
        tests(
            "AndroidAttestationTests",
            [
                "AndroidAttestation", "AndroidAttestationTesting", "Attestation",
                "AttestationTesting", "Bytes", "Crypto", "DER", "GatewayTesting", "JSON",
            ]),
        tests("ProtobufTests", ["Protobuf"]),
        tests("QuestionsTests", ["Questions", "HTTP", "Protobuf"]),
        tests("OTLPTests", ["OTLP", "Bytes", "JSON", "Telemetry"]),
        tests("JWTTests", ["JWT", "Bytes", "Crypto", "GatewayTesting", "JSON"]),
        tests(
            "GatewayTokensTests",
            ["GatewayTokens", "Attestation", "Bytes", "Crypto", "JSON", "KeyStore"]),
        tests(
            "AppleServicesTests",
            [
                "AppleServices", "AppAttest", "Attestation", "AppAttestTesting", "Bytes", "Crypto",
                "EventLoop",
                "GatewayTesting", "HTTPSClient", "JSON", "TLS",
            ]),
        tests(
            "JudgementTests",
            [
                "Judgement", "AndroidAttestation", "AppAttest", "Attestation", "CBOR",
                "GatewayTokens", "HTTP", "JWT",
                "KeyStore",
                "Policy",
            ]),
        tests("PolicyTests", ["Policy", "HTTP", "Bytes", "JSON"]),
        tests(
            "KeyStoreTests",
            [
                "KeyStore", "SQLiteKeyStore", "RedisKeyStore", "PostgresKeyStore", "Attestation",
                "Bytes", "Crypto", "EventLoop", "GatewayTesting", "Postgres", "Redis", "SQLite",
                "Telemetry",
            ]),
        tests(
            "SettingsTests",
            [
                "Settings", "AppAttest", "Attestation", "AppleServices", "Bytes", "Crypto", "HTTP",
                "HTTPSClient", "JSON", "Policy", "TLS", "YAML",
            ]),
        tests(
            "BackgroundTests",
            [
                "Background", "AndroidAttestation", "AppAttest", "Attestation",
                "AppAttestTesting", "Bytes", "Crypto", "EventLoop",
                "GatewayTesting", "HTTPSClient", "JWT", "KeyStore", "OTLP", "SQLiteKeyStore",
                "Settings",
            ]),
        tests(
            "GatewayTests",
            [
                "Gateway", "AndroidAttestation", "AndroidAttestationTesting", "Background",
                "GatewayTesting", "AppAttest", "Attestation",
                "AppAttestTesting", "Bytes",
                "Crypto", "EventLoop", "GatewayTokens", "HTTP", "JSON", "JWT", "Judgement",
                "KeyStore", "Policy", "SQLiteKeyStore", "Settings", "TLS", "Telemetry",
            ]),
        tests(
            "SimulationTests",
            [
                "Gateway", "AndroidAttestation", "AndroidAttestationTesting", "GatewayTesting",
                "AppAttest", "Attestation", "AppAttestTesting",
                "Bytes", "Crypto", "EventLoop",
                "KeyStore", "Policy", "Redis", "RedisKeyStore", "Settings", "Telemetry",
            ]),
        tests(
            "RequestPathTests",
            [
                "GatewayTesting", "AndroidAttestationTesting", "AppAttest", "Attestation",
                "AppAttestTesting", "Bytes", "Crypto", "JSON",
                "Protobuf", "SQLite", "TLS",
            ], excluding: ["otlp_check.py"]),
        tests(
            "FaultTests",
            [
                "GatewayTesting", "AndroidAttestationTesting", "Attestation", "AppAttestTesting",
                "Bytes", "JSON", "SQLite",
            ]),
        tests("ConformanceTests", ["GatewayTesting"]),
        tests(
            "RecipeTests",
            ["GatewayTesting", "Attestation", "AppAttestTesting", "Bytes", "Crypto", "JSON"],
            excluding: ["openapi_check.py", "schemathesis.toml"]),
        tests("TidyTests", []),
    ],
    swiftLanguageModes: [.v6]
)
