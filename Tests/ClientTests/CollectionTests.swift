import Foundation
import GatewayTesting
import JSON
import Testing

/// `docs/client/postman.json` and `docs/client/bruno`.
@Suite(
    "Collections for API clients", .enabled(if: BuiltProgram.isBuilt), .timeLimit(.minutes(30)))
struct CollectionTests {}

extension CollectionTests {
    private static let folder = Repository.path(of: "docs/client/")

    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: folder + path, encoding: .utf8)
    }

    // MARK: forms

    @Test("Postman's has the members of version 2.1")
    func postmanForm() throws {
        let collection = try JSONValue.parse(try Self.text("postman.json"))
        #expect(collection["info"]?["name"]?.stringValue == "Sallyport")
        #expect(
            collection["info"]?["schema"]?.stringValue
                == "https://schema.getpostman.com/json/collection/v2.1.0/collection.json")
        let event = try #require(collection["event"]?.arrayValue?.first)
        #expect(event["listen"]?.stringValue == "prerequest")
        #expect(event["script"]?["type"]?.stringValue == "text/javascript")
        let variables = (collection["variable"]?.arrayValue ?? []).compactMap {
            $0["key"]?.stringValue
        }
        #expect(variables == ["gateway", "signer"])
        let items = collection["item"]?.arrayValue ?? []
        #expect(items.count == 2)
        for item in items {
            let request = try #require(item["request"])
            let url = try #require(request["url"])
            let path = (url["path"]?.arrayValue ?? []).compactMap { $0.stringValue }
            let query = (url["query"]?.arrayValue ?? []).compactMap { pair in
                pair["key"]?.stringValue.map { "\($0)=\(pair["value"]?.stringValue ?? "")" }
            }
            // The parts say what the whole does, because Postman takes them.
            let whole =
                "{{gateway}}/" + path.joined(separator: "/")
                + (query.isEmpty ? "" : "?" + query.joined(separator: "&"))
            #expect(url["raw"]?.stringValue == whole && url["host"]?.arrayValue?.count == 1)
            #expect(item["name"]?.stringValue?.isEmpty == false)
            #expect(["GET", "POST"].contains(request["method"]?.stringValue))
            #expect(request["header"]?.arrayValue != nil)
            #expect(
                request["body"] == nil || request["body"]?["mode"]?.stringValue == "raw")
        }
    }

    /// The blocks of a .bru file: a name and ` {` in a line, lines that are indented by two spaces,
    /// and `}`. Nil if the file has anything else.
    private static func blocks(_ text: String) -> [String: String]? {
        var blocks: [String: String] = [:]
        var name: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if let block = name {
                if line == "}" {
                    name = nil
                } else if line.hasPrefix("  ") || line.isEmpty {
                    blocks[block, default: ""] += line.dropFirst(2) + "\n"
                } else {
                    return nil
                }
            } else if line.hasSuffix(" {"), line.dropLast(2).allSatisfy({ $0 != " " }) {
                name = String(line.dropLast(2))
                guard blocks.updateValue("", forKey: String(line.dropLast(2))) == nil else {
                    return nil
                }
            } else if !line.isEmpty {
                return nil
            }
        }
        return name == nil ? blocks : nil
    }

    /// The blocks of a file of the collection.
    private static func file(_ path: String) throws -> [String: String] {
        let text = try text(path)
        return try #require(blocks(text), "\(path) is not in Bruno's language")
    }

    /// The pairs of a dictionary block.
    private static func pairs(_ block: String?) -> [String: String] {
        let pairs = (block ?? "").split(separator: "\n").compactMap {
            $0.wholeMatch(of: #/([a-z]+): (.+)/#).map { (String($0.output.1), String($0.output.2)) }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test("Bruno's has the blocks of its language")
    func brunoForm() throws {
        let members = try JSONValue.parse(try Self.text("bruno/bruno.json"))
        #expect(members["version"]?.stringValue == "1")
        #expect(members["type"]?.stringValue == "collection")
        let collection = try Self.file("bruno/collection.bru")
        #expect(Set(collection.keys) == ["auth", "script:pre-request"])
        let desk = try Self.file("bruno/environments/desk.bru")
        #expect(
            Self.pairs(desk["vars"]) == [
                "gateway": "http://127.0.0.1:8080", "signer": "http://127.0.0.1:7357",
            ])
        for (file, method, body) in [("read", "get", "none"), ("write", "post", "json")] {
            let request = try Self.file("bruno/\(file).bru")
            #expect(Self.pairs(request["meta"])["type"] == "http")
            #expect(Self.pairs(request[method])["url"]?.hasPrefix("{{gateway}}/api/x") == true)
            #expect(Self.pairs(request[method])["body"] == body)
            #expect((request["body:json"] != nil) == (body == "json"))
        }
        #expect(Self.blocks("get {\nurl\n}") == nil && Self.blocks("get {\n  a") == nil)
        #expect(Self.blocks("x") == nil && Self.blocks("get {\n}\nget {\n}") == nil)
    }

    // MARK: scripts

    /// Parts of Postman and Bruno that their scripts use; the rest of the programs is not there.
    private static let standIns = #"""
        const fs = require("node:fs"), vm = require("node:vm");
        const input = JSON.parse(fs.readFileSync(0, "utf8"));
        const resolved = (text) => text.replace(/{{(\w+)}}/g, (_, name) => input.variables[name]);
        const ask = (url, method, headers, body) => fetch(url, { method, headers, body });

        async function postman(request) {
          const added = {}, pending = [];
          const body = request.body && { ...request.body };
          const pm = {
            variables: { replaceIn: resolved },
            request: {
              method: request.method, url: { toString: () => request.url }, body,
              headers: { upsert: ({ key, value }) => { added[key] = value; } },
            },
            sendRequest: ({ url, method, header, body }, done) => {
              pending.push(ask(url, method, header, body.raw).then(async (answer) => {
                const text = await answer.text();
                done(null, { code: answer.status, text: () => text, json: () => JSON.parse(text) });
              }));
            },
          };
          vm.runInNewContext(input.script, { pm });
          await Promise.all(pending);
          return [resolved(request.url), added, body && body.raw];
        }

        async function bruno(request) {
          const added = {};
          let url = request.url, data = request.body && request.body.raw;
          const req = {
            getMethod: () => request.method, getUrl: () => url, setUrl: (value) => { url = value; },
            getBody: ({ raw }) => raw ? data : JSON.parse(data),
            setBody: (value) => { data = value; },
            setHeader: (name, value) => { added[name] = value; },
          };
          const bru = {
            interpolate: resolved,
            sendRequest: async ({ method, url, headers, data: body }) => {
              const answer = await ask(url, method, headers, body);
              const data = await answer.json();
              if (answer.ok) return { status: answer.status, data };
              // As Axios, which Bruno sends with.
              const error = new Error(`Request failed with status code ${answer.status}`);
              throw Object.assign(error, { response: { status: answer.status, data } });
            },
          };
          await vm.runInNewContext(`(async () => {${input.script}\n})()`, { req, bru });
          return [url, added, data];
        }

        (async () => {
          for (const request of input.requests) {
            const sign = input.tool === "postman" ? postman : bruno;
            const [url, headers, body] = await sign(request);
            const answer = await ask(url, request.method, headers, body);
            console.log(answer.status);
          }
        })();
        """#

    private struct Request: Encodable {
        struct Body: Encodable {
            var mode = "raw"
            var raw: String
        }

        let method: String
        let url: String
        var body: Body?
    }

    private struct Input: Encodable {
        let tool: String
        let script: String
        let variables: [String: String]
        let requests: [Request]
    }

    private static func postman() throws -> (script: String, requests: [Request]) {
        let collection = try JSONValue.parse(try text("postman.json"))
        let lines = collection["event"]?.arrayValue?.first?["script"]?["exec"]?.arrayValue ?? []
        let requests = try (collection["item"]?.arrayValue ?? []).map { item in
            let raw = item["request"]?["body"]?["raw"]?.stringValue
            return Request(
                method: try #require(item["request"]?["method"]?.stringValue),
                url: try #require(item["request"]?["url"]?["raw"]?.stringValue),
                body: raw.map { Request.Body(raw: $0) })
        }
        return (lines.compactMap(\.stringValue).joined(separator: "\n"), requests)
    }

    private static func bruno() throws -> (script: String, requests: [Request]) {
        let script = try file("bruno/collection.bru")["script:pre-request"]
        let requests = try ["read", "write"].map { file in
            let request = try self.file("bruno/\(file).bru")
            let method = request["get"] == nil ? "post" : "get"
            return Request(
                method: method.uppercased(), url: try #require(pairs(request[method])["url"]),
                body: request["body:json"].map { Request.Body(raw: $0) })
        }
        return (try #require(script), requests)
    }

    private func run(
        _ tool: String, _ script: String, _ requests: [Request], _ desk: LabDesk, signer: UInt16
    ) throws -> ChildProcess.Outcome {
        let input = Input(
            tool: tool, script: script,
            variables: [
                "gateway": desk.url, "signer": "http://127.0.0.1:\(signer)", "note": "a \"b\"",
            ], requests: requests)
        return try ChildProcess.run(
            "node", ["-e", Self.standIns], standardInput: Array(JSONEncoder().encode(input)))
    }

    @Test(
        "sign each request by the service, as the gateway takes it",
        .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint),
        arguments: ["postman", "bruno"])
    func scripts(tool: String) throws {
        let desk = try LabDesk()
        try desk.enrol()
        let service = try SigningService(desk)
        let (script, published) = try tool == "postman" ? Self.postman() : Self.bruno()
        // A variable in the body, which the tool would replace after the script.
        let more = Request(
            method: "POST", url: "{{gateway}}/api/x", body: Request.Body(raw: "<{{note}}>"))
        let outcome = try run(tool, script, published + [more], desk, signer: service.port)
        #expect(outcome.standardOutput == "200\n200\n200\n", "\(outcome.standardError)")
        let requests = desk.upstream.requests
        #expect(requests.map(\.target) == ["/api/x?page=2", "/api/x", "/api/x"])
        #expect(requests.last?.body == Array(#"<a "b">"#.utf8))
        #expect(requests[1].body.contains(Array("it's signed as it is".utf8)))
        #expect(try desk.counter() == 3)
    }

    @Test(
        "send nothing without a signature",
        .enabled(if: TypeScriptClient.isInstalled, TypeScriptClient.hint),
        arguments: ["postman", "bruno"])
    func unsigned(tool: String) throws {
        let desk = try LabDesk()
        let (script, requests) = try tool == "postman" ? Self.postman() : Self.bruno()
        // The gateway stands in the place of the service, and forwards what it does not protect.
        desk.upstream.answer { _ in .response(500, body: #"{"error":"broken"}"#) }
        let outcome = try run(tool, script, requests, desk, signer: desk.gateway.port)
        #expect(outcome.status != .exited(0) && outcome.standardError.contains("broken"))
        #expect(desk.upstream.requests.map(\.target) == ["/sign"])
    }
}
