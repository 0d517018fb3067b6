import Bytes
import HTTP
import JSON
import Judgement

/// The status page, its parts, and the documents that it shows.
extension AdminDesk {
    func statusPage() -> LocalResponse {
        var response = statusFile(
            "text/html; charset=utf-8",
            StatusPage.html(StatusDocument(services.hub, site: site)))
        response.fields.append(
            ("Content-Security-Policy", Array(StatusPage.contentSecurityPolicy.utf8)))
        response.fields.append(("Referrer-Policy", Array("no-referrer".utf8)))
        return response
    }

    func statusStyle() -> LocalResponse {
        statusFile("text/css; charset=utf-8", PackageResources.status_css)
    }

    func statusScript() -> LocalResponse {
        statusFile(
            "text/javascript; charset=utf-8",
            PackageResources.charts_js + PackageResources.status_js + PackageResources.tables_js
                + PackageResources.refusals_js)
    }

    /// The status document. `?history=hour|day|none` chooses the history.
    func statusDocument() -> LocalResponse {
        let ranges: [String: HistoryRange?] = ["hour": .hour, "day": .day, "none": nil]
        let asked: String?
        do throws(QueryFault) {
            asked = try queried("history").map { String(decoding: $0, as: UTF8.self) }
        } catch {
            return statusError(400, "bad_request", "the query is malformed")
        }
        guard let range = ranges[asked ?? "hour"] else {
            return statusError(400, "bad_request", "history is hour, day or none")
        }
        return statusFile(
            "application/json", StatusDocument(services.hub, site: site).json(range))
    }

    /// The document of refusals. `?id=REQUEST_ID` chooses one of them.
    func refusalsDocument() -> LocalResponse {
        let id: [UInt8]?
        do throws(QueryFault) {
            id = try queried("id")
        } catch {
            return statusError(400, "bad_request", "the query is malformed")
        }
        guard let id else {
            return statusFile("application/json", RefusalsDocument.list(services.hub))
        }
        guard let found = RefusalsDocument.one(id, services.hub) else {
            return statusError(
                404, "not_found",
                "no refusal of a request with this id is kept: it was not refused, it was long "
                    + "ago, or another gateway answered it; the access log may have it")
        }
        return statusFile("application/json", found)
    }

    private func queried(_ name: StaticString) throws(QueryFault) -> [UInt8]? {
        try QueryValue.find(name, inQueryOf: headBytes.span.extracting(head.originTarget))
    }

    private func statusFile(_ type: StaticString, _ body: [UInt8]) -> LocalResponse {
        var response = LocalResponse(status: 200, contentType: type, body: body)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        response.fields.append(("X-Content-Type-Options", Array("nosniff".utf8)))
        response.fields.append(("Cross-Origin-Resource-Policy", Array("same-origin".utf8)))
        return response
    }

    private func statusError(
        _ status: UInt16, _ label: StaticString, _ detail: String
    ) -> LocalResponse {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("error", constant: label)
        writer.member("detail", string: detail)
        writer.endObject()
        var response = LocalResponse(
            status: status, contentType: "application/json", body: writer.finish().readable.array)
        response.fields.append(("Cache-Control", Array("no-store".utf8)))
        return response
    }
}
