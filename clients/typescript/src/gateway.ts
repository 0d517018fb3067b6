import { ANSWER_TIME_MAX, inTime, REPORT_TIME_MAX } from "./abort.js";
import type { Settings } from "./configuration.js";
import { Refused, UnexpectedAnswer } from "./errors.js";
import type { Fetch } from "./ports.js";
import { members, refusalOf } from "./refusal.js";
import type { Reports } from "./reports.js";
import { transmit, type AppRequest } from "./request.js";
import { adviceOf, type RetryAdvice } from "./retries.js";
import type { Attestation } from "./state.js";

/** The answer to a request for a challenge. */
export interface Challenge {
  readonly token: string;
  /** The life in seconds; null if the answer does not say. */
  readonly lifetime: number | null;
  readonly retry: RetryAdvice | null;
}

/** The answer to an enrolment. */
export interface Attested {
  readonly response: Response;
  /** The ticket for a later key; null from a gateway of an earlier version. */
  readonly ticket: string | null;
}

/** Sends the client's own requests. */
export class Gateway {
  constructor(
    private readonly settings: Settings,
    private readonly fetch: Fetch,
    private readonly reports: Reports,
  ) {}

  request(method: string, path: string, body: object | null = null): AppRequest {
    return {
      method,
      url: this.settings.gateway + path,
      headers: {
        Accept: "application/json",
        ...(body === null ? {} : { "Content-Type": "application/json" }),
      },
      body: body === null ? null : JSON.stringify(body),
      rest: { credentials: "omit" },
      timeMax: ANSWER_TIME_MAX,
    };
  }

  private async transmit(plain: AppRequest): Promise<Response> {
    const { request, report } = this.reports.carrying(plain);
    try {
      return await transmit(this.fetch, request);
    } catch (error) {
      this.reports.keep(report);
      throw error;
    }
  }

  async challenge(path: string, query: Readonly<Record<string, string>>): Promise<Challenge> {
    const pairs = Object.entries(query).map(([name, value]) => {
      return `${name}=${encodeURIComponent(value).replace(/'/g, "%27")}`;
    });
    const target = pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
    const response = await this.transmit(this.request("GET", target));
    const answer = await answerOf(response);
    const token = answer["challenge"];
    if (typeof token !== "string" || token === "") throw new UnexpectedAnswer(response.status);
    const lifetime = answer["expires_in"];
    return {
      token,
      lifetime: typeof lifetime === "number" ? lifetime : null,
      retry: adviceOf(answer["retry"]),
    };
  }

  /** Has the gateway verify an attestation. */
  async verify(
    key: { readonly keyId: string; readonly challenge: string; readonly proof: Attestation },
    ticket: string | null,
  ): Promise<Attested> {
    const body = {
      ...("chain" in key.proof ? { platform: "android" } : {}),
      key_id: key.keyId,
      challenge: key.challenge,
      ...key.proof,
      ...(ticket === null ? {} : { installation: ticket }),
    };
    const response = await this.transmit(this.request("POST", "/attest/verify", body));
    const next = (await answerOf(response))["installation"];
    return { response, ticket: typeof next === "string" ? next : null };
  }

  /** Reports a failure by a request of its own. If that fails, the next request reports it. */
  async tellFailure(): Promise<void> {
    if (!this.reports.isUrgent) return;
    try {
      const report = this.request("POST", "/attest/failure");
      await this.transmit({ ...report, timeMax: REPORT_TIME_MAX });
    } catch {
      // The report was kept.
    }
  }
}

/** The JSON object of an answer 200. */
export async function answerOf(response: Response): Promise<Record<string, unknown>> {
  const refusal = await refusalOf(response);
  if (refusal !== null) throw new Refused(refusal);
  const object = response.status === 200 ? members(await inTime(() => response.text())) : null;
  if (object === null) throw new UnexpectedAnswer(response.status);
  return object;
}
