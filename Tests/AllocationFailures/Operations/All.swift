extension Operation {
    static func all(_ inputs: Inputs) throws -> [Operation] {
        try signatures(inputs) + certificates(inputs) + tokens(inputs) + parameters(inputs)
            + handshakes(inputs) + documents() + conversations() + databases(inputs) + replies()
            + loops() + requests() + sessions()
    }
}
