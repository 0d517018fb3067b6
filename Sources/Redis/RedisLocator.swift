/// Finds the server to connect to, again for each attempt.
public protocol RedisLocator: AnyObject {
    /// `found` is called once, or never if this is called again meanwhile.
    func locate(_ found: @escaping (Result<RedisEndpoint, RedisFailure>) -> Void)
}
