import { raced, throwIfAborted } from "./abort.js";
import { ChallengeCache } from "./challenges.js";
import { HeaderName, settingsOf, type Configuration, type Settings } from "./configuration.js";
import { Enrolment } from "./enrolment.js";
import {
  ClientError, InvalidRequest, KeyError, Refused, StateError, UnexpectedAnswer, Unsupported,
} from "./errors.js";
import { answerOf, Gateway } from "./gateway.js";
import { systemClock, type Clock, type Fetch, type Parts } from "./ports.js";
import { allowsRepeating, asksForProof, refusalOf, type Refusal } from "./refusal.js";
import { Reports } from "./reports.js";
import { headerOf, initOf, requestOf, transmit, withHeader, type AppRequest } from "./request.js";
import { attemptsOf, waitAfter } from "./retries.js";
import { Signer } from "./signer.js";
import { keyIdOf } from "./state.js";
import { targetOf } from "./target.js";
import { SessionTokens, type SessionToken } from "./tokens.js";
import { Turnstile } from "./turnstile.js";

/**
 * The proof of a request: an assertion over this very request, or a session token, which one
 * assertion pays for, on routes with `accept: [assertion, token]`.
 */
export type Proof = "assertion" | "token";

/** What ends a call early, as in `RequestInit`. */
export interface Abortable {
  readonly signal?: AbortSignal | null;
}

/** An answer to a request of the app, and the proof that the request had. */
interface Answer {
  readonly response: Response;
  /** The key that signed the request, or that paid for its session token. */
  readonly keyId: string | null;
  readonly token: SessionToken | null;
  /** The reason why the request was sent without a proof; null if it had one. */
  readonly unproved: ClientError | null;
}

/** A request with its proof. */
type Proved = Omit<Answer, "response" | "unproved"> & { readonly request: AppRequest };

/**
 * Proves requests with a key that the device has attested, and sends them through a Sallyport
 * gateway. Use one client for each gateway and app.
 *
 * It enrols a key when the first request needs one, keeps the challenges in answers, puts requests
 * into the order that the gateway demands, and follows the advice of refusals.
 */
export class AttestClient {
  private readonly settings: Settings;
  private readonly fetchOnce: Fetch;
  private readonly clock: Clock;
  private readonly challenges = new ChallengeCache();
  private readonly reports: Reports;
  private readonly gateway: Gateway;
  private readonly enrolment: Enrolment;
  private readonly signer: Signer;
  private readonly tokens: SessionTokens;
  private readonly turnstile: Turnstile;
  private hasToldUnsupported = false;

  constructor(
    configuration: Configuration,
    private readonly parts: Parts,
  ) {
    const settings = settingsOf(configuration);
    const clock = parts.clock ?? systemClock;
    const { keys } = parts;
    [this.settings, this.clock] = [settings, clock];
    this.fetchOnce = parts.fetch ?? ((url, init) => fetch(url, init));
    this.reports = new Reports(settings.reportsFailures, keys.platform, parts.app);
    this.gateway = new Gateway(settings, this.fetchOnce, this.reports);
    this.tokens = new SessionTokens(
      () => clock.now(), (binding) => this.fetchToken(binding),
      async (keyId) => keyId === keyIdOf(await this.enrolment.state()),
    );
    this.enrolment = new Enrolment(
      settings, parts, clock, this.gateway, this.reports, this.challenges,
      () => {
        this.challenges.clear();
        this.tokens.clear();
      },
    );
    this.signer = new Signer(
      settings, keys, clock, this.enrolment, this.gateway, this.reports, this.challenges,
      parts.digest,
    );
    // Android's keys do not count, so their requests may overtake each other.
    this.turnstile = new Turnstile(keys.platform === "apple" ? settings.places : Infinity);
  }

  /** The key ID; null if the gateway has confirmed no key yet. */
  async keyId(): Promise<string | null> {
    const state = await this.enrolment.state();
    return state.stage.name === "enrolled" ? state.stage.keyId : null;
  }

  /** True if a URL has the origin of the gateway. */
  covers(url: string): boolean {
    const origin = /^[^/?#]+\/\/[^/?#]+/.exec(url)?.[0];
    return origin !== undefined && /^https?:/i.test(origin)
      && targetOf(origin).origin === targetOf(this.settings.gateway).origin;
  }

  /**
   * Enrols a key now, which the first request would do otherwise. Completed steps are kept. An
   * aborted call throws what `fetch` throws, and the enrolment goes on for other callers.
   */
  async enrol({ signal }: Abortable = {}): Promise<void> {
    throwIfAborted(signal);
    const enrol = async () => {
      await this.requireSupport();
      await this.enrolment.enrolledKey();
    };
    await raced(signal, enrol());
  }

  /**
   * Sends a request with its proof and returns the API's answer. It takes the arguments of `fetch`.
   *
   * It throws `Refused` if the gateway refuses and nothing helps now, the reason why there is no
   * proof if there must be one, and the error of `fetch` if no answer came. The API may have seen
   * such a request, which is never sent again by itself. A URL that the gateway does not cover is
   * `InvalidRequest`, because no other server may see a proof.
   */
  async fetch(
    input: string | URL | Request,
    init?: RequestInit,
    proof: Proof = "assertion",
  ): Promise<Response> {
    const request = await this.coveredRequest(input, init);
    return (await this.deliver(request, proof, this.settings.sendsUnproved)).response;
  }

  /**
   * Returns the arguments of `fetch` for one request with an assertion, to be sent once and soon by
   * another sender. Hand the answer to `receive`, and a refusal to `follow`. It takes URLs that the
   * gateway covers.
   */
  async sign(input: string | URL | Request, init?: RequestInit): Promise<[string, RequestInit]> {
    const request = await this.coveredRequest(input, init);
    await this.requireSupport();
    const { request: proved } = await raced(request.rest.signal, this.signer.sign(request));
    const signed = this.reports.carrying(proved).request;
    return [signed.url, initOf(signed)];
  }

  /**
   * Does what the refusal of a request asks for, which may be to wait or to enrol another key.
   * Returns true if the request is to be signed and sent again.
   *
   * @param refusal What `receive` found in the answer.
   * @param signed The refused attempt, as `sign` returned it.
   * @param attempt The number of attempts so far.
   */
  async follow(
    refusal: Refusal, signed: readonly [string, RequestInit], attempt: number,
  ): Promise<boolean> {
    const request = await this.coveredRequest(...signed);
    const text = headerOf(request, HeaderName.token);
    const token = this.tokens.named(text);
    if (refusal.code === "token_invalid") this.tokens.giveUp(token);
    const keyId = headerOf(request, this.settings.headers.keyId) ?? token?.keyId ?? null;
    // Without a proof now, there is none a moment later.
    const isHelpless = keyId === null && text === null && asksForProof(refusal);
    if (isHelpless || attempt >= attemptsOf(this.settings.retries, refusal.retry)) return false;
    return this.resolve(refusal, request, keyId, attempt);
  }

  private async coveredRequest(
    input: string | URL | Request, init: RequestInit | undefined,
  ): Promise<AppRequest> {
    const request = await requestOf(input, init);
    if (this.covers(request.url)) return request;
    throw new InvalidRequest("the URL does not have the origin of the gateway");
  }

  /** Keeps the challenge that an answer brought, and returns the refusal; null if it is none. */
  receive(response: Response): Promise<Refusal | null> {
    this.challenges.keep(response.headers.get(HeaderName.challenge), this.clock.now());
    return refusalOf(response);
  }

  /**
   * Returns a session token for a process that cannot sign, such as a web view: the one that the
   * client has, or one that an assertion has just paid for.
   *
   * An aborted call throws what `fetch` throws, and the client keeps the token when it comes.
   *
   * @param binding The value of the header that tokens are bound to, if the gateway binds them.
   * @param options.insteadOf The text of a token that was refused with `token_invalid`, which the
   *   client then forgets.
   */
  async sessionToken(
    binding: string | null = null,
    { signal, insteadOf = null }: Abortable & { readonly insteadOf?: string | null } = {},
  ): Promise<SessionToken> {
    throwIfAborted(signal);
    this.tokens.giveUp(this.tokens.named(insteadOf));
    const token = async () => {
      await this.requireSupport();
      return this.tokens.token(binding);
    };
    return raced(signal, token());
  }

  /**
   * Forgets the key and every wait, as if the app had been installed anew.
   *
   * This is for a button that your support may ask users to press, not for the handling of errors:
   * the client replaces a useless key by itself, and Apple counts the keys of a device.
   */
  reset(): Promise<void> {
    return this.enrolment.reset();
  }

  // Attempts

  /** Sends until the API has answered, or nothing is left to try. */
  private async deliver(
    request: AppRequest, wanted: Proof, sendsUnproved: boolean,
  ): Promise<Answer> {
    let proof = wanted;
    for (let attempt = 1; ; attempt++) {
      throwIfAborted(request.rest.signal);
      const answer = await this.attempt(request, proof, sendsUnproved);
      // A challenge for a key that was replaced meanwhile is useless.
      if (answer.keyId === null || answer.keyId === keyIdOf(await this.enrolment.state())) {
        this.challenges.keep(answer.response.headers.get(HeaderName.challenge), this.clock.now());
      }
      const refusal = await refusalOf(answer.response);
      if (refusal === null) return answer;
      // The gateway insists on a proof. The reason why there is none says more than that.
      if (answer.unproved !== null && asksForProof(refusal)) throw answer.unproved;
      if (refusal.code === "assertion_required") proof = "assertion";
      if (refusal.code === "token_invalid") this.tokens.giveUp(answer.token);
      const isLast = attempt >= attemptsOf(this.settings.retries, refusal.retry);
      if (isLast || !(await this.resolve(refusal, request, answer.keyId, attempt))) {
        throw new Refused(refusal);
      }
    }
  }

  private async attempt(
    request: AppRequest, proof: Proof, sendsUnproved: boolean,
  ): Promise<Answer> {
    const { signal } = request.rest;
    let unproved: ClientError | null = null;
    const one = async (): Promise<Answer | null> => {
      let proved: Proved;
      try {
        proved = await raced(signal, this.prove(request, proof));
      } catch (error) {
        // The network would not carry the request either, or it is no valid request.
        const concernsProof = error instanceof ClientError && !(error instanceof InvalidRequest);
        if (!sendsUnproved || !concernsProof) throw error;
        unproved = error;
        return null;
      }
      return { ...proved, unproved: null, response: await this.exchange(proved.request) };
    };
    const isSigned = proof === "assertion" && (await raced(signal, this.maySign()));
    // From the signature to the answer, because only the answer shows that the counter was
    // accepted.
    const answer = await (isSigned ? this.turnstile.pass(one, signal) : one());
    if (answer !== null) return answer;
    return { keyId: null, token: null, unproved, response: await this.exchange(request) };
  }

  private async exchange(plain: AppRequest): Promise<Response> {
    const { request, report } = this.reports.carrying(plain);
    try {
      return await transmit(this.fetchOnce, request);
    } catch (error) {
      this.reports.keep(report);
      this.reports.note("request", error);
      throw error;
    }
  }

  private async prove(request: AppRequest, proof: Proof): Promise<Proved> {
    if (await this.isUnsupported()) return this.standIn(request);
    try {
      if (proof === "assertion") return { ...(await this.signer.sign(request)), token: null };
      const header = this.settings.sessionTokenHeader;
      const token = await this.tokens.token(header === null ? null : headerOf(request, header));
      const { keyId } = token;
      return { request: withHeader(request, HeaderName.token, token.text), keyId, token };
    } catch (error) {
      const isUnsupported = error instanceof Unsupported
        || (error instanceof KeyError && error.kind === "unsupported");
      if (isUnsupported && this.settings.developerToken !== null) return this.standIn(request);
      throw error;
    }
  }

  /** The proof of a device that cannot attest. */
  private standIn(request: AppRequest): Proved {
    const { developerToken } = this.settings;
    if (developerToken === null) throw new Unsupported();
    return {
      request: withHeader(request, HeaderName.token, developerToken), keyId: null, token: null,
    };
  }

  private async requireSupport(): Promise<void> {
    if (await this.enrolment.isUnsupported()) throw new Unsupported();
  }

  /** True unless the device cannot attest. If its state cannot be read, signing says why. */
  private async maySign(): Promise<boolean> {
    try {
      return !(await this.isUnsupported());
    } catch (error) {
      if (error instanceof StateError) return true;
      throw error;
    }
  }

  /** True if the device cannot attest, which is noted once in a client's life. */
  private async isUnsupported(): Promise<boolean> {
    if (!(await this.enrolment.isUnsupported())) return false;
    // Why a key could not be made was told when it was tried.
    if (this.hasToldUnsupported || this.settings.developerToken !== null) return true;
    if (await this.parts.keys.isSupported()) return true;
    this.hasToldUnsupported = true;
    this.reports.note("support", new Unsupported());
    return true;
  }

  /** Prepares another attempt, or returns false if none would help. */
  private async resolve(
    refusal: Refusal, request: AppRequest, keyId: string | null, attempt: number,
  ): Promise<boolean> {
    const { retries } = this.settings;
    const sleep = (seconds: number) =>
      raced(request.rest.signal, this.clock.sleep(seconds * 1000));
    switch (refusal.action) {
      case "sign_again":
      case "fetch_challenge": {
        const first = refusal.retry?.after ?? 0;
        if (first > retries.waitMax || !allowsRepeating(refusal, request.method)) return false;
        if (first > 0) await sleep(first);
        return true;
      }
      case "attest_again":
        return keyId !== null && this.enrolment.giveUpKey(keyId, refusal.retry);
      case "retry_later": {
        const seconds = waitAfter(
          retries, attempt, retries.waitMax,
          { retryAfter: refusal.retryAfter, advice: refusal.retry }, this.clock.chance(),
        );
        // The jitter may exceed the limit by a quarter.
        if (seconds > retries.waitMax * 1.25) return false;
        if (!allowsRepeating(refusal, request.method)) return false;
        await sleep(seconds);
        return true;
      }
      case "update_app":
      case "none":
        return false;
    }
  }

  // Session tokens

  private async fetchToken(binding: string | null): Promise<SessionToken> {
    let request = this.gateway.request("POST", "/assert/token");
    const header = this.settings.sessionTokenHeader;
    if (header !== null && binding !== null) request = withHeader(request, header, binding);
    const { response, keyId } = await this.deliver(request, "assertion", false);
    const { token, expires_in: lifetime } = await answerOf(response);
    if (typeof token !== "string" || typeof lifetime !== "number") {
      throw new UnexpectedAnswer(response.status);
    }
    return { text: token, until: this.clock.now() + lifetime * 900, binding, keyId };
  }
}

/** True if the gateway advises to update the app, which still works for a while. */
export function advisesUpdate(response: Response): boolean {
  return response.headers.get(HeaderName.action) === "update_app";
}
