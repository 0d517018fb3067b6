package import Policy
package import Settings

/// The subject of a rollout that moves by itself.
package enum RolloutSubject: Hashable, Sendable {
    /// Enforcement on the route of this name.
    case route(String)
    /// The share of installations that may attest.
    case attestation

    /// The name by which operators call it.
    package var name: String {
        switch self {
        case .route(let name): name
        case .attestation: EndpointSettings.attestRolloutName
        }
    }
}

/// A rollout with a plan, and where gateways keep how far it has come.
package struct PlannedRollout: Hashable, Sendable {
    package let subject: RolloutSubject
    package let plan: RolloutPlan

    package init(subject: RolloutSubject, plan: RolloutPlan) {
        self.subject = subject
        self.plan = plan
    }

    /// The name of the shared value. With another start it is another one: gateways whose
    /// configurations differ for a while do not undo each other's decisions, and a rollout starts
    /// over where its start was changed.
    package var entryName: String {
        let place =
            switch subject {
            case .route(let name): "route/\(name)"
            case .attestation: "attestation"
            }
        return "rollout/\(place)/\(plan.start)"
    }
}

extension Settings {
    /// Rollouts that move by themselves. One that nothing enforces stands still.
    package var plannedRollouts: [PlannedRollout] {
        var rollouts: [PlannedRollout] = []
        for route in routes where route.attest.mode == .enforce {
            guard let plan = route.rollout else { continue }
            rollouts.append(PlannedRollout(subject: .route(route.name), plan: plan))
        }
        if let plan = endpoints.attestRollout.plan {
            rollouts.append(PlannedRollout(subject: .attestation, plan: plan))
        }
        return rollouts
    }
}
