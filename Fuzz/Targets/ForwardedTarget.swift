import HTTP

extension FuzzTarget {
    /// A `Forwarded` field that was read and is written anew with quotes reads the same, and so
    /// does the form in which it is continued. Further elements behind it change nothing about
    /// those before.
    static let forwarded = FuzzTarget("forwarded", byteCountMax: 512) { bytes in
        let continued = ForwardedNodes.canonical(bytes)
        guard let nodes = ForwardedNodes.parse(bytes) else {
            return try FuzzFinding.require(continued == nil, "what has no grammar is continued")
        }
        guard let continued else { throw FuzzFinding("what has one is dropped") }
        try FuzzFinding.requireEqual(
            ForwardedNodes.parse(continued), nodes, "it is continued as another one")
        try FuzzFinding.requireEqual(
            ForwardedNodes.canonical(continued), continued, "its form is not the last one")
        try FuzzFinding.requireEqual(
            ForwardedNodes.parse(continued + Array(", for=last".utf8)),
            nodes + [Array("last".utf8)], "it swallows what the gateway adds")
        var text: [UInt8] = []
        for node in nodes {
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            guard let node else {
                text += Array("by=x".utf8)
                continue
            }
            text += Array("for=\"".utf8)
            for byte in node { text += [UInt8(ascii: "\\"), byte] }
            text.append(UInt8(ascii: "\""))
        }
        try FuzzFinding.requireEqual(
            ForwardedNodes.parse(text), nodes, "written anew it reads otherwise")
        try FuzzFinding.requireEqual(
            ForwardedNodes.parse(bytes + Array(",for=last".utf8)), nodes + [Array("last".utf8)],
            "what follows changes what was read")
    }
}
