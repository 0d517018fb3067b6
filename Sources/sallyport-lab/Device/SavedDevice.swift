/// A simulated device of any platform, which is kept in a file.
protocol SavedDevice {
    /// The challenge of the last answer.
    var nextChallenge: String? { get set }

    func save() throws

    /// The request that enrols the device's key.
    func enrolment(_ options: LabOptions, _ client: DeviceClient) throws -> HTTPRequest

    /// The request with the device's proof.
    func signing(
        _ request: HTTPRequest, challenge: String, _ options: LabOptions
    ) throws -> HTTPRequest
}
