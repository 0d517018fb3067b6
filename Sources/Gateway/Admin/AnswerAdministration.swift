import Attestation
import Bytes
import Crypto
import EventLoop
import HTTP
import JSON
import Judgement
import KeyStore
import Policy
import Settings

/// The admin API: keys, rollouts and the audit log for operators' programs, which show a token.
extension AdminDesk {
    /// A thousand key ids, with room.
    static let administrationByteCountMax = 64 * 1024
    /// The most keys of one request. They are changed in one transaction, for which gateways wait.
    static let administeredKeyCountMax = 1000

    /// The number of wrong tokens from one address that are answered one by one; after that the
    /// address is told to wait. A good token is accepted all the same, so that an attacker cannot
    /// lock operators out.
    private static let failedTokens = RateLimit(
        RateLimitSettings(
            name: "(admin.api)", subject: .address,
            rate: RateLimitSettings.Rate(count: 1, period: .second), burst: 10))

    static let otherMethods: StaticString = "This path accepts the methods that Allow names."

    /// Compares the token before anything else of the request is used, and before any body is read.
    func beginAdministration(path: Span<UInt8>) throws(Refusal) -> Step {
        guard let token = shownAdminToken() else { return refuseAdministration() }
        let path = String(decoding: path.array, as: UTF8.self)
        guard let resource = AdministrationResource(path: path) else {
            throw Refusal(
                .notFound, .admin, explanation: "The admin API has nothing under this path.")
        }
        state.administration = AdministrationRequest(
            resource: resource,
            author: AuditAuthor(
                way: .api, name: token.name, origin: exchange.peerText,
                requestID: exchange.requestIDText))
        let isRead = head.methodKind == .get || head.methodKind == .head
        guard resource.isChange ? head.methodKind == .post : isRead else {
            throw Refusal(.methodNotAllowed, .admin, explanation: Self.otherMethods)
        }
        return .next
    }

    /// The token that `Authorization` shows. Every configured token is compared, in the same time.
    private func shownAdminToken() -> AdminToken? {
        guard let digest = shownBearerDigest else { return nil }
        var found: AdminToken?
        for token in site.settings.admin?.api?.tokens ?? []
        where ConstantTime.equals(token.digest, digest) {
            found = token
        }
        return found
    }

    private func refuseAdministration() -> Step {
        services.log.repeatedEvent(
            "admin_api_denied", "from \(exchange.peerText): no token, or a wrong one")
        let network = client.peer?.ipv6Form?.limitedNetwork
        let wait = network.flatMap {
            services.hub.rateLimiter.take(Self.failedTokens, $0, now: services.loop.now)
        }
        guard let wait else {
            var response = administrationProblem(
                401, "unauthorized", "the request has no token of admin.api.token_file")
            response.fields.append(("WWW-Authenticate", Array("Bearer".utf8)))
            return exchange.answer(response)
        }
        var response = administrationProblem(
            429, "rate_limited", "too many wrong tokens came from this address")
        let seconds = "\(wait / 1_000_000_000 + 1)"
        response.fields.append(("Retry-After", Array(seconds.utf8)))
        return exchange.answer(response)
    }

    /// The body has come: parses the call, and has it carried out.
    func administer() throws(Refusal) -> Step {
        judge.answer()
        guard let request = state.administration, let access = services.hub.administration else {
            throw Refusal(.notFound, .admin)
        }
        let call: AdministrationCall
        do throws(AdministrationFault) {
            call = try administrationCall(request.resource)
        } catch {
            return exchange.answer(administrationProblem(400, "bad_request", error.text))
        }
        let job = job(call, by: request.author, access)
        guard services.administer(job.run, for: exchange) else {
            var response = administrationProblem(
                503, "gateway_busy", "the limit of concurrent requests is reached")
            response.fields.append(("Retry-After", Array("1".utf8)))
            return exchange.answer(response)
        }
        return .wait
    }

    func job(
        _ call: AdministrationCall, by author: AuditAuthor, _ access: AdministrationAccess
    ) -> AdministrationJob {
        AdministrationJob(
            call: call, author: author, site: site, access: access, floors: services.hub.floors,
            charges: BlockingCharges(mailbox: services.mailbox),
            wallMilliseconds: services.wallMilliseconds)
    }

    /// Another thread has carried out the call, or has failed to.
    func administrationEnded(_ result: AdministrationAnswer) {
        services.meter.resumed(exchange.phase)
        _ = exchange.answer(response(result))
        exchange.phase = .recordAccess
        exchange.advance()
    }

    private func administrationCall(
        _ resource: AdministrationResource
    ) throws(AdministrationFault) -> AdministrationCall {
        func query(_ names: [String]) throws(AdministrationFault) -> AdministrationQuery {
            let target = headBytes.span.extracting(head.originTarget)
            return try AdministrationQuery(of: target, allowing: names)
        }
        func order(
            _ action: QuotaOrder.Action, _ name: String
        ) throws(AdministrationFault) -> AdministrationCall {
            let selection = try query(AdministrationQuery.senderNames).quotaSelection()
            return .quota(QuotaOrder(quota: name, action: action, selection: selection))
        }
        switch resource {
        case .keys:
            let query = try query(AdministrationQuery.filterNames + ["pseudonym"])
            return .list(try query.keyFilter(), try query.pseudonym())
        case .key(let keyID):
            _ = try query([])
            return .show(keyID)
        case .noKey: throw AdministrationFault("the key id is not base64 of 32 bytes")
        case .export: return .export(try query(AdministrationQuery.filterNames).keyFilter())
        case .revocation:
            _ = try query([])
            return .revoke(try administeredKeys())
        case .erasure:
            _ = try query([])
            return .erase(try administeredKeys())
        case .rollouts:
            _ = try query([])
            return .rollouts
        case .audit: return .audit(try query(AdministrationQuery.auditNames).auditFilter())
        case .quotas:
            _ = try query([])
            return .quotas
        case .quota(let name): return try order(.show, name)
        case .quotaReset(let name):
            guard intake.state.body.byteCount == 0 else {
                throw AdministrationFault("this request has no body")
            }
            return try order(.reset, name)
        case .quotaGrant(let name):
            return try order(.grant(try QuotaBody.amount(administeredJSON)), name)
        }
    }

    /// The body; nil if it is not JSON.
    private var administeredJSON: JSONValue? {
        let limit = intake.bodyByteCountMax
        return intake.state.body.withMemory { json in
            try? JSONValue.parse(json, byteCountMax: limit, depthMax: 4)
        }
    }

    /// Parses `{"key_ids": [...]}`. Unknown members are refused, because one of them might be meant
    /// to leave keys out.
    private func administeredKeys() throws(AdministrationFault) -> [KeyID] {
        guard let members = administeredJSON?.objectValue, members.count == 1,
            let elements = members["key_ids"]?.arrayValue
        else { throw AdministrationFault("the body is not {\"key_ids\": [...]}") }
        guard (1...Self.administeredKeyCountMax).contains(elements.count) else {
            throw AdministrationFault(
                "key_ids holds \(elements.count) ids: 1 to \(Self.administeredKeyCountMax) are "
                    + "taken at once")
        }
        var keyIDs: [KeyID] = []
        for (index, element) in elements.enumerated() {
            guard let keyID = element.stringValue.flatMap({ KeyID(base64: $0) }) else {
                throw AdministrationFault("key_ids[\(index)] is not base64 of 32 bytes")
            }
            keyIDs.append(keyID)
        }
        return keyIDs
    }

    private func administrationProblem(
        _ status: UInt16, _ code: String, _ detail: String
    ) -> LocalResponse {
        response(AdministrationProblem.answer(status, code, detail, exchange.requestIDText))
    }

    private func response(_ result: AdministrationAnswer) -> LocalResponse {
        var response = LocalResponse(
            status: result.status, contentType: result.contentType, body: result.body)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        if let link = result.link { response.fields.append(("Link", Array(link.utf8))) }
        return response
    }
}
