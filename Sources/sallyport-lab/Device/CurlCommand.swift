/// A request as a command of curl, for a POSIX shell.
enum CurlCommand {
    /// - Parameters:
    ///   - authoritiesPath: The file of the authorities that vouch for the server; nil for those
    ///     that curl knows.
    ///   - bodyPath: The file that the body is read from; nil if the command shows it.
    static func text(
        _ request: HTTPRequest, to origin: GatewayOrigin, authoritiesPath: String?,
        bodyPath: String?
    ) -> String {
        // curl would else remove dots from the path, and read brackets as a range.
        var words = ["curl", "-sS", "--path-as-is", "--globoff"]
        if let authoritiesPath { words += ["--cacert", quoted(authoritiesPath)] }
        words += request.method == "HEAD" ? ["--head"] : ["-X", quoted(request.method)]
        for (name, value) in request.fields {
            // curl leaves a field without a value out, unless it ends with a semicolon.
            words += ["-H", quoted(value.isEmpty ? "\(name);" : "\(name): \(value)")]
        }
        if let bodyPath {
            words += ["--data-binary", quoted("@" + bodyPath)]
        } else if !request.body.isEmpty {
            // --data would read a file if the body began with @.
            words += ["--data-raw", quoted(String(decoding: request.body, as: UTF8.self))]
        }
        words.append(quoted(origin.url + request.target))
        return words.joined(separator: " ")
    }

    /// A word that the shell does not change.
    private static func quoted(_ text: String) -> String {
        let parts = text.split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: #"'\''"#) + "'"
    }
}
