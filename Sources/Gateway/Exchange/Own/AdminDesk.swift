/// Answers operators on the admin listeners: pages, metrics, DeviceCheck and the admin API.
///
/// It may change what an operator has asked for.
struct AdminDesk: ExchangePart {
    let exchange: Exchange

    @inline(__always) private var state: State { exchange.adminDeskState }

    /// What is asked of DeviceCheck about a device.
    @inline(__always) var inquiry: DeviceInquiry? {
        _read { yield state.inquiry }
        nonmutating _modify { yield &state.inquiry }
    }

    /// What a program asks of the admin API.
    @inline(__always) var administration: AdministrationRequest? {
        _read { yield state.administration }
        nonmutating _modify { yield &state.administration }
    }

    /// Whether the request is an operator's.
    var isAsked: Bool { inquiry != nil || administration != nil }

    /// What an operator asks for.
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
