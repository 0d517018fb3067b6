/// Answers operators on the admin listeners: pages, metrics, DeviceCheck and the admin API.
///
/// It may change the record of an operator's request.
struct AdminDesk: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.adminDeskState }

    /// A service's request for DeviceCheck; nil if the request is not one.
    @inline(__always) var inquiry: DeviceInquiry? {
        _read { yield state.inquiry }
        nonmutating _modify { yield &state.inquiry }
    }

    /// An admin API request; nil if the request is not one.
    @inline(__always) var administration: AdministrationRequest? {
        _read { yield state.administration }
        nonmutating _modify { yield &state.administration }
    }

    /// True if the request is for DeviceCheck or the admin API.
    var isAsked: Bool { inquiry != nil || administration != nil }

    /// The operator's request.
    final class State {
        fileprivate(set) var inquiry: DeviceInquiry? = nil
        fileprivate(set) var administration: AdministrationRequest? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if inquiry != nil { inquiry = nil }
            if administration != nil { administration = nil }
        }
    }
}
