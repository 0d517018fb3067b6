/// The causes at check listeners, where a proxy asks about requests.
enum QuestionCauses {
    static let questions: [CauseExplanation] = [
        CauseExplanation(
            [.notFound], ["check_peer"], .operator,
            "A peer asks that listeners[].check.from does not name.",
            "Name the proxy there. Other clients end here, too."),
        CauseExplanation(
            [.notFound], ["check_path"], .operator,
            "A check listener takes questions at /check, and requests for the gateway's endpoints.",
            "Let the proxy ask at /check."),
        CauseExplanation(
            [.notFound], ["check_own"], .operator,
            "A proxy asks about an endpoint of the gateway, OPTIONS *, or a route that responds by "
                + "itself.",
            "Send requests for the endpoints to the listener, and answer the others in the proxy."),
        CauseExplanation(
            [.badRequest], ["check_header"], .operator,
            "A header that says what is asked about is missing, repeated or wrong. The answer's "
                + "detail names it.",
            "Let the proxy set each header of its dialect."),
        CauseExplanation(
            [.badRequest], ["check_unwanted"], .operator,
            "A question shows a client's header that the API must not get: one for another method "
                + "or path (X-HTTP-Method-Override, X-Original-URL), or another spelling of a "
                + "header of the proxy or the gateway (X_Forwarded_For, X.Attest.Result).",
            "Let the proxy remove such headers before it asks, as the files in deploy/integrations "
                + "do."),
        CauseExplanation(
            [.badRequest], ["check_body"], .operator,
            "A question came with a body, which its dialect does not have.",
            "Let the proxy ask without the body."),
        CauseExplanation(
            [.badRequest, .bodyTooLarge], ["check_call"], .operator,
            "A question in a message cannot be read. Over HTTP the answer's detail says why.",
            "Send the message as the page about check listeners shows."),
        CauseExplanation(
            [.bodyUnavailable], ["body_hidden"], .operator,
            "The proxy does not show the body that the app has signed, or not that there is none: "
                + "without Content-Length: 0, every method but GET, HEAD and OPTIONS may have one.",
            "Let the gateway proxy the route, or set attest.body: claimed. For requests without a "
                + "body the app can send Content-Length: 0."),
    ]
}
