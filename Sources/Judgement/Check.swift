extension Cause {
    /// One of the gateway's own checks, stores and limits, by its name in the log.
    package enum Check: String, CaseIterable {
        // MARK: the request
        case noRoute = "no_route"
        case http2Malformed = "http2_malformed"
        case http2Ambiguous = "http2_ambiguous"
        case maxForwardsInvalid = "max_forwards_invalid"
        case bodyMediaType = "body_media_type"
        case undecided

        // MARK: questions of a proxy
        case checkPeer = "check_peer"
        case checkPath = "check_path"
        case checkOwn = "check_own"
        case checkHeader = "check_header"
        case checkUnwanted = "check_unwanted"
        case checkBody = "check_body"
        case checkCall = "check_call"
        case bodyHidden = "body_hidden"

        // MARK: the proof of the request
        case assertionRepeated = "assertion_repeated"
        case assertionBase64 = "assertion_base64"
        case clientDataRepeated = "client_data_repeated"
        case clientDataBase64 = "client_data_base64"
        case clientDataMissing = "client_data_missing"
        case clientDataHash = "client_data_hash"
        case keyIDRepeated = "key_id_repeated"
        case keyIDFieldBase64 = "key_id_base64"
        case keyIDLength = "key_id_length"
        case keyIDMember = "key_id_member"
        case keyIDMissing = "key_id_missing"
        case keyIDsDiffer = "key_ids_differ"
        case bodyIsNotJSON = "body_is_not_json"
        case bodyIsClientData = "body_is_client_data"
        case challengeRepeated = "challenge_repeated"
        case challengesTooMany = "challenges_too_many"

        // MARK: its challenge
        case notOurs = "not_ours"
        case purpose
        case otherKey = "other_key"
        case incarnation
        case age
        case spent

        // MARK: its key
        case erased
        case succeeded
        case appNotConfigured = "app_not_configured"
        case appNewer = "app_newer"

        // MARK: tokens
        case tokenMissing = "token_missing"
        case tokenRepeated = "token_repeated"
        case tokenNotAccepted = "token_not_accepted"
        case tokenBinding = "token_binding"
        case tokenUnbound = "token_unbound"
        case revocationUnknown = "revocation_unknown"
        case proofRepeated = "proof_repeated"

        // MARK: DeviceCheck
        case deviceTokenMissing = "device_token_missing"
        case deviceTokenRepeated = "device_token_repeated"
        case deviceTokenMalformed = "device_token_malformed"
        case deviceTokenBad = "device_token_bad"
        case deviceTokenSpent = "device_token_spent"
        case deviceCheckBusy = "device_check_busy"
        case deviceCheckRate = "device_check_rate"
        case deviceCheckQueue = "device_check_queue"

        // MARK: the demands of its route
        case tier
        case appMismatch = "app_mismatch"
        case environment
        case category
        case categoryMissing = "category_missing"
        case version
        case versionMissing = "version_missing"
        case versionMalformed = "version_malformed"
        case rollout

        // MARK: counters
        case counters
        case countersUnknown = "counters_unknown"
        case countersFull = "counters_full"
        case counterState = "counter_state"
        case counterConflict = "counter_conflict"
        case counterTooLow = "counter_too_low"
        case floorsUnkept = "floors_unkept"

        // MARK: the registry
        case registry
        case registryQueue = "registry_queue"
        case registryLog = "registry_log"
        case backlog
        case registryTimeout = "registry_timeout"
        case registryUnknown = "registry_unknown"

        // MARK: bounds
        case requestsPerAddress = "requests_per_address"
        case madeRoom = "made_room"
        case bodyFile = "body_file"
        case requestTimeout = "request_timeout"
        case slowReader = "slow_reader"
        case drainTimeout = "drain_timeout"

        // MARK: the upstream
        case unresolved
        case connectionsMax = "connections_max"
        case queueFull = "queue_full"
        case queueTimeout = "queue_timeout"
        case headTooLargeForClient = "head_too_large_for_client"
        case tunnelTimeout = "tunnel_timeout"
        case tunnelDrained = "tunnel_drained"
        case tunnelBroken = "tunnel_broken"

        // MARK: the gateway's own endpoints
        case admin
        case endpoint
        case deviceCheckPath = "device_check"
        case identity
        case query
        case keyIDBase64 = "key_id"
        case bodyNotJSON = "json"
        case members
        case attestationBase64 = "attestation"
        case boundHeader = "bound_header"
        case tokenRoutes = "token_routes"
        case tokenNotIssued = "token"
        case installation
        case attestRollout = "attest_rollout"
        case failureReport = "failure_report"
    }
}
