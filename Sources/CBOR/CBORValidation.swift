extension Span where Element == UInt8 {
    /// The length of the one item that starts at byte 0, checked down to its last leaf: shortest
    /// forms, definite lengths, UTF-8, no duplicate keys, within `limits`. Bytes may follow it.
    public func cborItemByteCount(limits: CBORLimits) throws(CBORError) -> Int {
        let end = try validateItem(at: 0, depthLeft: limits.depthMax)
        guard end <= limits.byteCountMax else { throw CBORError(.tooLong, at: 0) }
        return end
    }

    /// Checks one item and returns its end.
    private func validateItem(at offset: Int, depthLeft: Int) throws(CBORError) -> Int {
        let head = try cborHead(at: offset)
        let content = offset + head.byteCount
        switch head.major {
        case .unsigned, .negative, .simple, .tag: return content
        case .bytes: return try endOfString(head, at: offset)
        case .text:
            let end = try endOfString(head, at: offset)
            try validateUTF8(content..<end, item: offset)
            return end
        case .array, .map:
            guard depthLeft > 0 else { throw CBORError(.tooDeep, at: offset) }
            // Each element takes at least one byte, so a false count is caught before any loop.
            guard head.argument <= UInt64(count - content) else {
                throw CBORError(.truncated, at: offset)
            }
            guard head.major == .map else {
                return try validateArray(Int(head.argument), at: content, depthLeft: depthLeft - 1)
            }
            guard head.argument <= UInt64(CBORLimits.mapEntryCountMax) else {
                throw CBORError(.tooManyEntries, at: offset)
            }
            return try validateMap(Int(head.argument), at: content, depthLeft: depthLeft - 1)
        }
    }

    private func validateArray(
        _ elementCount: Int, at start: Int, depthLeft: Int
    ) throws(CBORError) -> Int {
        var offset = start
        for _ in 0..<elementCount { offset = try validateItem(at: offset, depthLeft: depthLeft) }
        return offset
    }

    private func validateMap(
        _ entryCount: Int, at start: Int, depthLeft: Int
    ) throws(CBORError) -> Int {
        var keys = InlineArray<32, (start: Int, end: Int)>(repeating: (0, 0))
        var offset = start
        for entry in 0..<entryCount {
            let key = offset
            switch try cborHead(at: key).major {
            case .unsigned, .negative, .bytes, .text: break
            default: throw CBORError(.keyType, at: key)
            }
            let keyEnd = try validateItem(at: key, depthLeft: 0)
            // Only shortest forms are allowed, so equal keys are equal bytes.
            for earlier in 0..<entry where equals(keys[earlier], (key, keyEnd)) {
                throw CBORError(.duplicateKey, at: key)
            }
            keys[entry] = (key, keyEnd)
            offset = try validateItem(at: keyEnd, depthLeft: depthLeft)
        }
        return offset
    }

    private func endOfString(_ head: CBORHead, at offset: Int) throws(CBORError) -> Int {
        let content = offset + head.byteCount
        guard head.argument <= UInt64(count - content) else {
            throw CBORError(.truncated, at: offset)
        }
        return content + Int(head.argument)
    }

    private func validateUTF8(_ range: Range<Int>, item: Int) throws(CBORError) {
        do {
            _ = try UTF8Span(validating: extracting(range))
        } catch {
            throw CBORError(.invalidUTF8, at: item)
        }
    }

    private func equals(_ left: (start: Int, end: Int), _ right: (start: Int, end: Int)) -> Bool {
        guard left.end - left.start == right.end - right.start else { return false }
        for index in 0..<left.end - left.start
        where self[left.start + index] != self[right.start + index] {
            return false
        }
        return true
    }
}
