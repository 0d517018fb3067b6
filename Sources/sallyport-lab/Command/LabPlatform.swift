/// The platform of a simulated device.
enum LabPlatform: String, CaseIterable {
    case apple
    case android
}
