// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "SallyportClient",
    platforms: [.iOS(.v15), .macOS(.v12), .macCatalyst(.v15), .tvOS(.v15), .watchOS(.v9)],
    products: [.library(name: "SallyportClient", targets: ["SallyportClient"])],
    targets: [.target(name: "SallyportClient")]
)

// Apple's frameworks do not exist elsewhere. The stand-ins let the package be built and tested on
// Linux, and are no part of it on Apple's systems.
#if !canImport(Darwin)
    let frameworks = ["CryptoKit", "DeviceCheck", "Security"]
    package.targets += frameworks.map { .target(name: $0, path: "Stubs/\($0)") }
    package.targets[0].dependencies = frameworks.map { .byName(name: $0) }
#endif
