import EventLoop
import Gateway
import RedisKeyStore
import Settings

/// Checks that the gateway could listen at its addresses, and accept as many connections as it may.
extension DoctorCommand {
    static func addresses(_ settings: Settings, _ report: DoctorReport) {
        for bind in settings.binds {
            let name = "address \(bind)"
            do throws(IOError) {
                try Socket.tryListening(on: bind.socketAddress())
                report.tell(.ok, name, "free")
            } catch {
                let isTaken = error.reason == .addressInUse
                guard isTaken, let address = try? bind.socketAddress() else {
                    report.tell(.failure, name, words(of: error, bind))
                    continue
                }
                tell(of: ListenerOwner.find(at: address), error, name, report)
            }
        }
    }

    /// The limits are those of the user who runs `doctor`: a service has its own, so that too few
    /// are no failure.
    static func descriptors(_ settings: Settings, _ report: DoctorReport) {
        let demand = DescriptorDemand(of: settings)
        let limit = HostSystem.raiseDescriptorLimit()
        if let shortage = demand.shortage(under: limit) {
            report.tell(
                .warning, "descriptors", "\(shortage); a service has a limit of its own")
        } else {
            report.tell(.ok, "descriptors", "at most \(demand.count) of \(limit)")
        }
    }

    private static func words(of error: IOError, _ bind: Endpoint) -> String {
        guard error.reason == .permissionDenied, let remedy = bind.privilegeRemedy else {
            return error.reason.text
        }
        return "\(error.reason.text): \(remedy)"
    }

    /// Reports an address in use. If the gateway itself uses it, that is no fault, because `doctor`
    /// also runs beside it.
    private static func tell(
        of owner: NamedProcess?, _ error: IOError, _ name: String, _ report: DoctorReport
    ) {
        guard let owner else {
            return report.tell(
                .warning, name,
                "in use: by the gateway, if it runs, or by a process that this user cannot see")
        }
        let process = owner.words
        if owner.name == "sallyport" {
            report.tell(.ok, name, "in use by \(process)")
        } else {
            report.tell(.failure, name, "\(error.reason.text) by \(process)")
        }
    }
}

extension Endpoint {
    /// The way to let a user listen here who may not; nil if the port is not the reason.
    var privilegeRemedy: String? {
        guard case .tcp(_, 1..<1024) = self else { return nil }
        return "a port below 1024 needs CAP_NET_BIND_SERVICE (systemctl edit sallyport), or "
            + "sallyport.socket, by which systemd opens it"
    }
}
