import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/capacity.md`, and `Benchmarks/fleet.py`, which makes its tables and charts.
@Suite("A fleet of devices")
struct FleetTests {}

extension FleetTests {
    private func run(_ arguments: String...) throws -> ChildProcess.Outcome {
        try ChildProcess.run(
            PythonInterpreter.debian.path,
            ["-B", Repository.path(of: "Benchmarks/fleet.py")] + arguments)
    }

    private func page(_ name: String) throws -> String {
        try Repository.text(of: "docs/\(name)")
    }

    @Test("is computed as the page shows it, charts too")
    func printed() throws {
        let directory = try ScratchDirectory()
        let outcome = try run("--plots", directory.path)
        #expect(outcome.status == .exited(0), "\(outcome.standardError)")
        let page = try page("capacity.md")
        let tables = outcome.standardOutput.trimmingCharacters(in: .newlines)
            .components(separatedBy: "\n\n")
        #expect(tables.count == 3)
        for table in tables { #expect(page.contains(table), "make fleet prints\n\(table)") }
        for chart in ["fleet-enrolment.svg", "fleet-redis-lost.svg"] {
            let drawn = try String(contentsOfFile: directory.path(of: chart), encoding: .utf8)
            #expect(try drawn == self.page("images/" + chart), "make fleet draws another \(chart)")
            #expect(page.contains("(images/\(chart))"))
        }
    }

    private func simulated(_ arguments: String...) throws -> JSONValue {
        try simulated(arguments)
    }

    private func simulated(_ arguments: [String]) throws -> JSONValue {
        let outcome = try ChildProcess.run(
            PythonInterpreter.debian.path,
            ["-B", Repository.path(of: "Benchmarks/fleet.py"), "--json"] + arguments)
        let text = outcome.standardOutput
        // A list of one fleet; the reader has no fractions, and no figure here needs one.
        let whole = text.replacing(#/(\d)\.\d+(e-?\d+)?/#) { "\($0.output.1)" }
        return try #require(JSONValue.parse(whole).arrayValue?.first)
    }

    @Test("never enrols faster than Apple lets it, and then takes as long as that needs")
    func enrolment() throws {
        let fleet = try simulated("--devices", "100000000", "--attestations", "20")
        let enrolment = try #require(fleet["enrolment"])
        #expect(enrolment["peak"]?.integerValue == 20)
        // 100 million at 20 a second are 58 days.
        let days = try #require(enrolment["days"]?.integerValue)
        #expect(days >= 57 && days < 75)
        let free = try simulated("--devices", "100000")
        #expect(try #require(free["enrolment"]?["peak"]?.integerValue) < 20)
    }

    @Test("has a rollout for each size that asks Apple for less than its limit")
    func rollout() throws {
        for devices in ["1000000", "100000000"] {
            let fleet = try simulated("--devices", devices)
            let plan = try #require(fleet["plan"])
            #expect(try #require(plan["peak"]?.integerValue) < 80)
            let counted = try #require(plan["counted"]?.integerValue)
            #expect(abs(counted - (Int64(devices) ?? 0)) <= 2)
        }
        // Doubling a large fleet is what the limit forbids.
        let large = try simulated("--devices", "100000000")
        #expect(try #require(large["doubled"]?["peak"]?.integerValue) > 100)
        #expect(try #require(large["plan"]?["step"]?.stringValue) == "+1%")
    }

    @Test("loses nobody with Redis: each device in use signs again or begins anew")
    func redis() throws {
        let lost = try #require(simulated("--devices", "10000000")["redis_lost"])
        func count(_ name: String) throws -> Int64 { try #require(lost[name]?.integerValue) }
        #expect(abs(try count("again") + count("expired") - count("using")) <= 2)
        #expect(try count("seconds") <= 120)
    }

    @Test("needs processors for its handshakes, of which resumed ones cost less")
    func handshakes() throws {
        func cores(_ arguments: String...) throws -> Int64 {
            // So many devices that whole processors tell.
            let fleet = try simulated(["--devices", "10000000000"] + arguments)
            return try #require(fleet["sizes"]?["cores"]?.integerValue)
        }
        let none = try cores("--handshakes", "0", "--resumed", "0")
        let resumed = try cores("--handshakes", "0", "--resumed", "1")
        let full = try cores("--handshakes", "1", "--resumed", "0")
        #expect(none < resumed && resumed < full)
    }

    @Test("an outage of Apple holds nobody back for longer than it lasts, and its end is a rush")
    func outages() throws {
        let fleet = try simulated("--devices", "10000000")
        func figure(_ part: String, _ name: String) throws -> Int64 {
            try #require(fleet[part]?[name]?.integerValue)
        }
        let usual = try #require(fleet["peak"]?.integerValue)
        #expect(try figure("rollout_outage", "peak") > figure("plan", "peak"))
        // In days, whose fractions are cut: six hours are none.
        #expect(try figure("rollout_outage", "longer") == 0)
        // The first try of each request and its two repetitions.
        #expect(abs(try figure("redis_away", "peak") - 3 * usual) <= 3)
        #expect(try figure("redis_away", "told") <= 3600 * figure("redis_away", "peak"))
    }

    @Test("has constants that the benchmarks measured")
    func constants() throws {
        let measured = try page("proof/benchmarks.md")
        let script = """
            import sys; sys.path.insert(0, "Benchmarks")
            import fleet
            from formula import REDIS_KEY, REGISTRY_KEY
            print(f"| {fleet.REDIS_REQUEST_US:,} |", f"| {REGISTRY_KEY} |", f"| {REDIS_KEY} |",
                  f"| {fleet.POSTGRES_ENROLMENTS:,} |", f"| {fleet.POSTGRES_FLOORS:,} |",
                  f"takes {fleet.VERIFICATION_US} us", sep="\\n")
            """
        let printed = try ChildProcess.run(
            PythonInterpreter.debian.path, ["-B", "-c", script], workingDirectory: Repository.path)
        let words = printed.standardOutput.split(separator: "\n")
        #expect(words.count == 6, "\(printed.standardError)")
        for word in words { #expect(measured.contains(word), "\(word)") }
    }

    @Test("that cannot be is refused")
    func refusal() throws {
        let outcome = try run("--peak", "3")
        #expect(outcome.status == .exited(2))
        #expect(outcome.standardError.contains("no such fleet"))
    }
}
