/// Answers operators on the admin listeners: pages, metrics, DeviceCheck and the admin API.
///
/// It may change the record of an operator's request.
struct AdminDesk: ExchangePart {
    let exchange: Exchange

    @inline(__always) var state: State { exchange.adminDeskState }

    /// A service's request for DeviceCheck; nil if the request is not one.
    @inline(__always) var inquiry: DeviceInquiry? { state.inquiry }

    /// An admin API request; nil if the request is not one.
    @inline(__always) var administration: AdministrationRequest? { state.administration }

    /// True if the request is for DeviceCheck or the admin API.
    var isAsked: Bool { inquiry != nil || administration != nil }

    /// The operator's request.
    final class State {
        var inquiry: DeviceInquiry? = nil
        var administration: AdministrationRequest? = nil

        /// Forgets the last request. Storage of up to `keptByteCountMax` bytes stays.
        func reset(keepingAtMost keptByteCountMax: Int) {
            if inquiry != nil { inquiry = nil }
            if administration != nil { administration = nil }
        }
    }
}
