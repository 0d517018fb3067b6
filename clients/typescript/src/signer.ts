import { base64, urlSafe, utf8 } from "./bytes.js";
import type { ChallengeCache } from "./challenges.js";
import { bodyClientData, headerClientData } from "./clientData.js";
import type { Settings } from "./configuration.js";
import type { Enrolment, Key } from "./enrolment.js";
import { KeyError } from "./errors.js";
import type { Gateway } from "./gateway.js";
import type { Clock, Digest, Keys } from "./ports.js";
import { UNKNOWN_FAILURE_MAX } from "./remedies.js";
import type { Reports } from "./reports.js";
import { withHeader, type AppRequest } from "./request.js";
import { keyIdOf } from "./state.js";
import { targetOf } from "./target.js";

/** A request with an assertion. */
export interface Signed {
  readonly request: AppRequest;
  readonly keyId: string;
}

/** Adds assertions to requests. */
export class Signer {
  constructor(
    private readonly settings: Settings,
    private readonly keys: Keys,
    private readonly clock: Clock,
    private readonly enrolment: Enrolment,
    private readonly gateway: Gateway,
    private readonly reports: Reports,
    private readonly challenges: ChallengeCache,
    private readonly digest: Digest | undefined,
  ) {}

  /**
   * Adds an assertion. If the key does not sign any more, or is gone because the app was installed
   * anew or the device restored, another key is enrolled, once.
   */
  async sign(request: AppRequest): Promise<Signed> {
    // A request that cannot be signed costs no key and no challenge.
    targetOf(request.url);
    const key = await this.enrolment.enrolledKey();
    try {
      return await this.signBy(key, request);
    } catch (error) {
      if (!(error instanceof KeyError) || !(await this.isUseless(key, error))) throw error;
      if (!(await this.enrolment.giveUpKey(key.id, null))) throw error;
      return this.signBy(await this.enrolment.enrolledKey(), request);
    }
  }

  private async isUseless(key: Key, error: KeyError): Promise<boolean> {
    const state = await this.enrolment.state();
    if (keyIdOf(state) !== key.id || error.kind === "lost") return true;
    return error.mayBlameKey && state.failures >= UNKNOWN_FAILURE_MAX;
  }

  private async signBy(key: Key, plain: AppRequest): Promise<Signed> {
    const { headers, challengeMember } = this.settings;
    const challenge = await this.challenge(key.id);
    let request = plain;
    let clientData: string;
    if (challengeMember === null) {
      clientData = await headerClientData(plain, challenge, this.digest);
      request = withHeader(request, headers.clientData, base64(utf8(clientData)));
    } else {
      clientData = bodyClientData(plain, challenge, challengeMember);
      request = { ...request, body: clientData };
    }
    const assertion = await this.assertion(key, clientData);
    request = withHeader(request, headers.assertion, assertion);
    return { request: withHeader(request, headers.keyId, key.id), keyId: key.id };
  }

  /** Returns an assertion, and counts failures in a row. Failures at once count as one. */
  private async assertion(key: Key, clientData: string): Promise<string> {
    const { failures } = await this.enrolment.state();
    try {
      const assertion =
        this.keys.platform === "apple"
          ? await this.keys.generateAssertion(key.id, clientData)
          : await this.keys.sign(key.alias, clientData);
      await this.enrolment.countFailures(0, key.id);
      return assertion;
    } catch (error) {
      this.reports.note("assert", error, failures + 1);
      if (error instanceof KeyError && error.mayBlameKey) {
        await this.enrolment.countFailures(failures + 1, key.id);
      }
      throw error;
    }
  }

  /** The newest challenge that an answer brought, or a fresh one. */
  private async challenge(keyId: string): Promise<string> {
    const kept = this.challenges.take(this.clock.now());
    if (kept !== null) return kept;
    try {
      const query = { key_id: urlSafe(keyId) };
      const answer = await this.gateway.challenge("/assert/challenge", query);
      if (answer.lifetime !== null) this.challenges.learn(answer.lifetime);
      return answer.token;
    } catch (error) {
      this.reports.note("challenge", error);
      throw error;
    }
  }
}
