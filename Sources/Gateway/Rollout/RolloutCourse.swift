public import Policy
public import Settings

/// What is rolled out by itself.
public enum RolloutSubject: Hashable, Sendable {
    /// Enforcement on the route of this name.
    case route(String)
    /// Who may attest.
    case attestation

    /// As operators name it.
    public var name: String {
        switch self {
        case .route(let name): name
        case .attestation: EndpointSettings.attestRolloutName
        }
    }
}

/// A rollout with a plan, and where gateways keep how far it has come.
public struct RolloutCourse: Hashable, Sendable {
    public let subject: RolloutSubject
    public let plan: RolloutPlan

    /// The name of the shared value. With another start it is another one: gateways whose
    /// configurations differ for a while do not undo each other's decisions, and a rollout begins
    /// anew where its start was changed.
    public var entryName: String {
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
    public var rolloutCourses: [RolloutCourse] {
        var courses: [RolloutCourse] = []
        for route in routes where route.attest.mode == .enforce {
            guard let plan = route.rollout else { continue }
            courses.append(RolloutCourse(subject: .route(route.name), plan: plan))
        }
        if let plan = endpoints.attestRollout.plan {
            courses.append(RolloutCourse(subject: .attestation, plan: plan))
        }
        return courses
    }
}
