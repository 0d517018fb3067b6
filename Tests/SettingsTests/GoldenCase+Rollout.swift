extension GoldenCase {
    static let rollouts: [GoldenCase] = [
        GoldenCase(
            "bad rollouts",
            #"""
            routes:
              - { name: a, path: /a, upstream: api, attest: { mode: enforce, rollout: {} } }
              - name: b
                path: /b
                upstream: api
                attest:
                  mode: enforce
                  rollout:
                    start: 0%
                    until: 101%
                    step: 2
                    every: 24
                    while_success: 0%
                    min_requests: 0
                    guard: { refused_max: 100%, window: 1s, min_requests: -1, action: stop }
              - name: c
                path: /c
                upstream: api
                attest:
                  mode: enforce
                  rollout: { start: 10%, until: 5%, step: x1, every: 1s, evry: 1h }
              - name: d
                path: /d
                upstream: api
                attest:
                  mode: enforce
                  rollout: { start: 10%, while_success: 90%, min_requests: 5, guard: hold }
              - name: e
                path: /e
                upstream: api
                attest: { mode: enforce, rollout: { start: 5, step: +0%, every: 1h } }
              - name: f
                path: /f
                upstream: api
                attest: { mode: enforce, rollout: { start: 1%, step: "+5", guard: { act: hold } } }
              - name: attest_rollout
                path: /g
                upstream: api
                attest: { mode: enforce, rollout: { start: 1% } }
            """#,
            expects: #"""
                2:75: routes[0].attest.rollout: required key "start" is missing
                9:16: routes[1].attest.rollout.start: "0%" is outside 1% to 100%: a rollout \#
                begins with some
                10:16: routes[1].attest.rollout.until: "101%" is outside 1% to 100%: a rollout \#
                ends with some
                11:15: routes[1].attest.rollout.step: "2" is not a step: write one like x2 or \#
                +10%
                12:16: routes[1].attest.rollout.every: "24" has no unit: write 24s (units: ms, \#
                s, m, h, d)
                13:24: routes[1].attest.rollout.while_success: "0%" is outside 1% to 100%: \#
                less is no condition
                14:23: routes[1].attest.rollout.min_requests: "0" is outside 1 to 1000000000: \#
                without any nothing is known
                15:31: routes[1].attest.rollout.guard.refused_max: "100%" is outside 0% to \#
                99%: with all of them nothing is guarded
                15:45: routes[1].attest.rollout.guard.window: "1s" is outside 1m to 7d: \#
                gateways bring together what they count every few seconds
                15:63: routes[1].attest.rollout.guard.min_requests: "-1" is not a whole number \#
                without unit
                15:75: routes[1].attest.rollout.guard.action: "stop" is not one of hold, \#
                step_back
                21:37: routes[2].attest.rollout.until: is less than start
                21:47: routes[2].attest.rollout.step: "x1" is outside x2 to x100: a step makes \#
                the share grow
                21:58: routes[2].attest.rollout.every: "1s" is outside 1m to 31d: what a step \#
                does wrong takes time to show
                21:62: unknown key "evry" in routes[2].attest.rollout: did you mean "every"?
                27:30: routes[3].attest.rollout.while_success: is used with step or every only
                27:50: routes[3].attest.rollout.min_requests: is used with step or every only
                27:74: routes[3].attest.rollout.guard: expected a mapping, found the text "hold"; \#
                known: refused_max, window, min_requests, action
                31:48: routes[4].attest.rollout.start: "5" has no unit: write 5%
                31:57: routes[4].attest.rollout.step: "+0%" is outside +1% to +100%: a step makes \#
                the share grow
                35:58: routes[5].attest.rollout.step: "+5" is not a step: write one like x2 or \#
                +10%
                35:73: unknown key "act" in routes[5].attest.rollout.guard: did you mean \#
                "action"?
                36:11: routes[6].name: "attest_rollout" is how `sallyport rollout` names who \#
                may attest
                """#),
        GoldenCase(
            "bad attest_rollout",
            #"""
            endpoints: { attest_rollout: 10 }
            """#,
            expects: #"""
                1:30: endpoints.attest_rollout: "10" has no unit: write 10%
                """#),
        GoldenCase(
            "attest_rollout without a share",
            #"""
            endpoints: { attest_rollout: { retry_after: 0s, strat: 1% } }
            """#,
            expects: #"""
                1:30: endpoints.attest_rollout: required key "start" is missing
                1:45: endpoints.attest_rollout.retry_after: "0s" is outside 1s to 7d: an app \#
                that is told to wait longer is used without having asked
                1:49: unknown key "strat" in endpoints.attest_rollout: did you mean "start"?
                """#),
        GoldenCase(
            "attest_rollout with a share that moves and stays",
            #"""
            endpoints:
              attest_rollout: { share: 101%, start: 1%, guard: {}, retry_after: 30w }
            """#,
            expects: #"""
                2:28: endpoints.attest_rollout.share: "101%" is outside 0% to 100%: a share of \#
                all
                2:34: endpoints.attest_rollout.start: has no use beside share, which stays as \#
                it is
                2:45: endpoints.attest_rollout.guard: has no use beside share, which stays as \#
                it is
                2:69: endpoints.attest_rollout.retry_after: "30w" is not a duration: write one \#
                like 30s, 250ms, 5m, 24h or 30d
                """#),
        GoldenCase(
            "two shares that move by themselves, to the same place",
            #"""
            routes:
              - { name: a, path: /x, hosts: [a.org], upstream: api,
                  attest: { mode: enforce, rollout: { start: 1% } } }
              - { name: b, path: /x, hosts: [b.org], upstream: api,
                  attest: { mode: enforce, rollout: { start: 1% } } }
              - { name: c, path: /x, hosts: [c.org], upstream: api, allow_weaker: true,
                  attest: { mode: enforce, rollout: { start: 1% } } }
              - { name: d, path: /y, hosts: [a.org], upstream: api, attest: { mode: enforce } }
              - { name: e, path: /y, hosts: [b.org], upstream: api,
                  attest: { mode: enforce, rollout: { start: 100% } } }
            """#,
            expects: #"""
                3:23: routes[0].attest.mode: weaker than that of the route at 4:5 in rollout: \#
                with another Host, header or path the same request for "/x" of the upstream \#
                comes through here (allow_weaker: true permits it)
                5:23: routes[1].attest.mode: weaker than that of the route at 2:5 in rollout: \#
                with another Host, header or path the same request for "/x" of the upstream \#
                comes through here (allow_weaker: true permits it)
                10:23: routes[4].attest.mode: weaker than that of the route at 8:5 in rollout: \#
                with another Host, header or path the same request for "/y" of the upstream \#
                comes through here (allow_weaker: true permits it)
                """#),
    ]
}
