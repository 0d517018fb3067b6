extension FuzzTarget {
    /// A fault that only a fuzzer with coverage finds in seconds: `make fuzz` fails where it is not
    /// found, for then nothing else would be.
    public static let canary = FuzzTarget("canary", byteCountMax: 64) { bytes in
        guard bytes.count >= 4, bytes[0] == UInt8(ascii: "b") else { return }
        guard bytes[1] == UInt8(ascii: "i") else { return }
        guard bytes[2] == UInt8(ascii: "r") else { return }
        guard bytes[3] == UInt8(ascii: "d") else { return }
        throw FuzzFinding("the canary sings")
    }

    /// A fault in what inputs may cost: one byte makes it allocate a MiB.
    public static let glutton = FuzzTarget("glutton", byteCountMax: 64) { bytes in
        guard bytes.first == UInt8(ascii: "g") else { return }
        let eaten = [UInt8](repeating: 0, count: 1 << 20)
        try FuzzFinding.require(eaten.count == 1 << 20, "the glutton eats")
    }
}
