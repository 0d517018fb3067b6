/// What became of questions that a proxy asks about requests.
enum QuestionCauses {
    static let questions: [CauseExplanation] = [
        CauseExplanation(
            [.notFound], ["check_peer"], .operator,
            "A peer asks about a request that listeners[].check.from does not name.",
            "Name the proxy there. Anybody else who reaches the listener ends here, too."),
        CauseExplanation(
            [.notFound], ["check_path"], .operator,
            "A check listener takes questions at /check, and requests for the gateway's own "
                + "endpoints.",
            "Let the proxy ask at /check, as its dialect has it."),
        CauseExplanation(
            [.notFound], ["check_own"], .operator,
            "A proxy asks about what nothing may be forwarded for: an endpoint of the gateway, "
                + "OPTIONS *, or a route that responds by itself. The answer's detail says which.",
            "Let the proxy send requests for the endpoints to the listener instead of asking "
                + "about them, and answer the others itself."),
        CauseExplanation(
            [.badRequest], ["check_header"], .operator,
            "A header that says what is asked about is missing, repeated or wrong. The answer's "
                + "detail names it and the dialect.",
            "Let the proxy set each header of its dialect, also where the client has sent one."),
        CauseExplanation(
            [.badRequest], ["check_unwanted"], .operator,
            "A question shows a client's header that the API must not get and the gateway cannot "
                + "have removed: one that asks for another method or path "
                + "(X-HTTP-Method-Override, X-Original-URL), or another spelling of a header that "
                + "only the proxy or the gateway sets (X_Forwarded_For, X.Attest.Result).",
            "Let the proxy remove such headers before it asks, as the files in "
                + "deploy/integrations do. An app that needs another method sends it as its "
                + "request's own."),
        CauseExplanation(
            [.badRequest], ["check_body"], .operator,
            "A question came with a body, which its dialect does not have.",
            "Let the proxy send its question without the body of the request."),
        CauseExplanation(
            [.badRequest, .bodyTooLarge], ["check_call"], .operator,
            "A question that is asked in a message cannot be read. Over HTTP the answer's detail "
                + "says why.",
            "Let whoever asks send the message as the page about check listeners has it."),
        CauseExplanation(
            [.bodyUnavailable], ["body_hidden"], .operator,
            "The proxy does not show the body that the app has signed, or does not say that there "
                + "is none: without Content-Length: 0, every method but GET, HEAD and OPTIONS may "
                + "have one.",
            "Let the gateway itself proxy the route, or let the upstream compare the body "
                + "(attest.body: claimed). For requests without a body it is enough that the app "
                + "sends Content-Length: 0."),
    ]
}
