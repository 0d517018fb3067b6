// swift-tools-version: 6.0
import PackageDescription

// A package of its own, so that SallyportClient stays without dependencies.
let package = Package(
    name: "SallyportStacks",
    platforms: [.iOS(.v15), .macOS(.v12), .macCatalyst(.v15), .tvOS(.v15), .watchOS(.v9)],
    products: [
        .library(name: "SallyportHTTPTypes", targets: ["SallyportHTTPTypes"]),
        .library(name: "SallyportOpenAPI", targets: ["SallyportOpenAPI"]),
    ],
    dependencies: [
        .package(name: "SallyportClient", path: ".."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-openapi-runtime", from: "1.0.0"),
    ],
    targets: [
        .target(
            name: "SallyportHTTPTypes",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "SallyportClient", package: "SallyportClient"),
            ]),
        .target(
            name: "SallyportOpenAPI",
            dependencies: [
                "SallyportHTTPTypes",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "OpenAPIRuntime", package: "swift-openapi-runtime"),
                .product(name: "SallyportClient", package: "SallyportClient"),
            ]),
    ]
)
