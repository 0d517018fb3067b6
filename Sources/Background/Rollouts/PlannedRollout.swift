package import Policy
package import Settings

/// The subject of a rollout that moves by itself.
package enum RolloutSubject: Hashable, Sendable {
    /// Enforcement on the route of this name.
    case route(String)
    /// The share of installations that may attest.
    case attestation

    /// The name that operators use for it.
    package var name: String {
        switch self {
        case .route(let name): name
        case .attestation: EndpointSettings.attestRolloutName
        }
    }
}

/// A rollout with a plan, and the name under which gateways keep its state.
package struct PlannedRollout: Hashable, Sendable {
    package let subject: RolloutSubject
    package let plan: RolloutPlan

    package init(subject: RolloutSubject, plan: RolloutPlan) {
        self.subject = subject
        self.plan = plan
    }

    /// The name of the shared value. It includes the start: gateways whose configurations differ
    /// for a while do not undo each other's decisions, and a rollout starts over if its start was
    /// changed.
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
    /// The rollouts that move by themselves. One that nothing enforces stands still.
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
