public import HTTP

public enum TargetMatch: Equatable, Sendable {
    /// The index of a route, among those that the table was made of.
    case route(Int)
    case none
    /// 400: the target has a fault, or two readings of it lead to routes that both enforce.
    case refused(HTTPFault)
}

extension RouteTable {
    /// The route for a request target, by the normal form of its path.
    ///
    /// Upstreams read a spelling that is allowed by name in one way or another, so each reading is
    /// matched, and allowing a spelling never weakens a route: if any reading matches nothing,
    /// nothing is matched; otherwise the route that demands most is taken, and among routes that
    /// demand nothing the one of the normal form. Two different routes in `enforce` cannot be
    /// compared: 400. In addition, parameters (`;`) are refused if any reading leads to a route
    /// with an attest mode other than `off`, unless they are allowed.
    ///
    /// - Parameters:
    ///   - target: the target in origin-form.
    ///   - scratch: storage for the normal form, reused from call to call.
    public func match(
        method: Span<UInt8>, target: Span<UInt8>, traits: RequestTraits = .plain,
        allowing: TargetAllowances, scratch: inout [UInt8]
    ) -> TargetMatch {
        switch TargetPath.normalize(target, allowing: allowing, into: &scratch) {
        case .refused(let fault): return .refused(fault)
        case .asReceived(let pathCount):
            let path = target.extracting(first: pathCount)
            return result(match(method: method, path: path, traits: traits))
        case .normalized(_, let spellings):
            let first = match(method: method, path: scratch.span, traits: traits)
            guard !spellings.isEmpty else { return result(first) }
            let path = target.extracting(first: pathByteCount(target))
            return matchReadings(
                method, path, traits, spellings, first,
                isParameterAllowed: allowing.contains(.pathParameters),
                &scratch)
        }
    }

    private func matchReadings(
        _ method: Span<UInt8>, _ path: Span<UInt8>, _ traits: RequestTraits,
        _ spellings: TargetAllowances, _ first: RouteMatch, isParameterAllowed: Bool,
        _ scratch: inout [UInt8]
    ) -> TargetMatch {
        let refusesParameters = spellings.contains(.pathParameters) && !isParameterAllowed
        if refusesParameters, isAttested(first) { return .refused(.pathParameters) }
        var taken = first
        // Every subset of the spellings; the whole set gave `first`.
        var subset = spellings.rawValue
        while subset != 0 {
            subset = (subset &- 1) & spellings.rawValue
            let reading = TargetAllowances(rawValue: subset)
            if let fault = TargetPath.read(path, interpreting: reading, into: &scratch) {
                return .refused(fault)
            }
            let other = match(method: method, path: scratch.span, traits: traits)
            if refusesParameters, isAttested(other) { return .refused(.pathParameters) }
            guard let stricter = strictest(taken, other) else { return .refused(.pathAmbiguous) }
            taken = stricter
        }
        return result(taken)
    }

    private func pathByteCount(_ target: Span<UInt8>) -> Int {
        for index in target.indices where target[index] == 0x3F { return index }
        return target.count
    }

    private func result(_ match: RouteMatch) -> TargetMatch {
        switch match {
        case .route(let route): .route(route)
        case .none: .none
        case .refused(let fault): .refused(fault)
        }
    }
}
