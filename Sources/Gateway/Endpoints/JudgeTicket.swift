import Attestation
import Bytes
import GatewayTokens
import JSON
import KeyStore

/// The outcome of the ticket that an enrolment brought.
enum SuccessionOutcome: String {
    case accepted
    case ticketInvalid = "ticket_invalid"
    /// The ticket's key has a successor already, or is erased, or not known.
    case ticketNotCurrent = "ticket_not_current"

    /// The name of the access line's member, and of the count.
    static let detailName = "succession"

    /// Writes the members of the answer to an enrolment.
    func write(to writer: inout JSONWriter) {
        writer.member("succession", constant: self == .accepted ? "accepted" : "refused")
        if self != .accepted { writer.member("succession_reason", string: rawValue) }
    }
}

/// Tickets: a key that is enrolled with one takes the place of the key that the ticket was given
/// to. A ticket that cannot be used is no reason to refuse the enrolment, because that would lock
/// out the person whose ticket was stolen.
extension EndpointDesk {
    /// The ticket in `text`, as far as this gateway can tell without its registry.
    func broughtTicket(_ text: [UInt8]?, for record: KeyRecord) -> BroughtTicket {
        guard let text else { return .none }
        guard let ticket = site.tickets.open(text.span, for: TicketHolder(of: record)) else {
            return .invalid
        }
        // A client that repeats an enrolment may bring the ticket that this one has given.
        return ticket.keyID == record.keyID ? .none : .valid(ticket.claim)
    }

    /// The outcome for the ticket of an enrolment whose key belongs to `inherited`; nil if there
    /// was no ticket.
    func succession(_ inherited: InstallationID?) -> SuccessionOutcome? {
        guard let enrolment else { return nil }
        let name = site.logName(of: enrolment.keyID)
        switch enrolment.ticket {
        case .none: return nil
        case .invalid:
            services.log.event(
                "succession_refused", "\(name) was enrolled with a ticket that is not valid here")
            return .ticketInvalid
        case .valid(let claim):
            guard claim.installation != inherited else { return .accepted }
            services.log.event(
                "succession_refused",
                "\(name) was enrolled with the ticket of \(site.logName(of: claim.predecessor)), "
                    + "which has a successor or is not known: two devices may hold the ticket")
            return .ticketNotCurrent
        }
    }
}
