// swift-tools-version: 6.2
// The fuzzer's program, apart from the product: it is built with libFuzzer and AddressSanitizer.
import PackageDescription

let package = Package(
    name: "fuzz",
    dependencies: [.package(name: "sallyport", path: "..")],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [.product(name: "FuzzTargets", package: "sallyport")],
            swiftSettings: [
                .treatAllWarnings(as: .error),
                // `main` is libFuzzer's.
                .unsafeFlags(["-parse-as-library"]),
            ])
    ],
    swiftLanguageModes: [.v6]
)
