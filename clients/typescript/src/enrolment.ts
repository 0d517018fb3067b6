import { urlSafe } from "./bytes.js";
import type { ChallengeCache } from "./challenges.js";
import { attestationChallenge } from "./clientData.js";
import { HeaderName, type Settings } from "./configuration.js";
import {
  ClientError, KeyError, Refused, StateError, TryLater, Unsupported,
} from "./errors.js";
import type { Gateway } from "./gateway.js";
import type { AndroidKeys, AppleKeys, Clock, Parts } from "./ports.js";
import { mayBeTheKey, phaseOf, remedyFor, type Remedy } from "./remedies.js";
import type { Phase, Reports } from "./reports.js";
import { keyWaitAfter, waitAfter, type RetryAdvice } from "./retries.js";
import {
  freshState, keyIdOf, type Stage, type State, stateOf, textOf, type Wait, waitOf,
} from "./state.js";

/** A key that the gateway knows. */
export interface Key {
  readonly id: string;
  /** The alias on Android. */
  readonly alias: string;
}

/** Enrols keys, one at a time, and keeps the state of that. */
export class Enrolment {
  /** Null until it was loaded. It is never changed, only replaced. */
  private loaded: State | null = null;
  private loading: Promise<State> | null = null;
  /** The changes of the state, one after the other. */
  private changes: Promise<unknown> = Promise.resolve();
  private underWay: Promise<Key> | null = null;
  /** The wait after states that could not be saved, and their number. No store has them. */
  private unsaved: { readonly count: number; readonly wait: Wait } | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly parts: Parts,
    private readonly clock: Clock,
    private readonly gateway: Gateway,
    private readonly reports: Reports,
    private readonly challenges: ChallengeCache,
    /** Runs when a key is given up. */
    private readonly forget: () => void,
  ) {}

  // State

  async state(): Promise<State> {
    if (this.loaded !== null) return this.loaded;
    this.loading ??= this.load();
    try {
      return await this.loading;
    } finally {
      this.loading = null;
    }
  }

  private async load(): Promise<State> {
    try {
      const text = await this.parts.store.load();
      this.loaded ??= text === null ? freshState : stateOf(text);
      return this.loaded;
    } catch (error) {
      throw new StateError(error);
    }
  }

  /**
   * Saves the next state and then takes it, one change at a time. The client never acts on a state
   * that was not saved.
   */
  private change(next: (state: State) => State): Promise<State> {
    const change = this.changes.then(async () => {
      const before = await this.state();
      const after = next(before);
      if (after === before) return before;
      try {
        await this.parts.store.save(textOf(after));
      } catch (error) {
        throw new StateError(error);
      }
      this.loaded = after;
      return after;
    });
    this.changes = change.catch(() => undefined);
    return change;
  }

  private alias(slot: number): string {
    return `${this.settings.keyAlias} ${slot}`;
  }

  /** True if the device cannot attest keys, as far as is known. */
  async isUnsupported(): Promise<boolean> {
    if (!(await this.parts.keys.isSupported())) return true;
    return (await this.state()).isUnsupported && (await this.waitsUntil()) !== null;
  }

  // Keys

  /** The key that the gateway knows. Callers at the same time share one enrolment. */
  async enrolledKey(): Promise<Key> {
    const known = this.known(await this.state());
    if (known !== null) return known;
    this.underWay ??= this.enrolNow().finally(() => {
      this.underWay = null;
    });
    return this.underWay;
  }

  private known(state: State): Key | null {
    const { stage, slot } = state;
    return stage.name === "enrolled" ? { id: stage.keyId, alias: this.alias(slot) } : null;
  }

  /**
   * Gives up a key that the gateway or the device does not accept any more, unless another request
   * has done that already. False if another key was given up a short while ago: the cause must be
   * another one.
   */
  async giveUpKey(keyId: string, advice: RetryAdvice | null): Promise<boolean> {
    const now = this.clock.now();
    let [isAllowed, isGivenUp] = [true, false];
    await this.change((state) => {
      if (keyIdOf(state) !== keyId) return state;
      const seconds = this.keyInterval(advice ?? state.advice);
      const { renewedAt, slot } = state;
      isAllowed = renewedAt === null || Math.abs(now - renewedAt) >= seconds * 1000;
      isGivenUp = isAllowed;
      return isAllowed ? { ...freshState, slot, renewedAt: now, advice: state.advice } : state;
    });
    if (isGivenUp) this.forget();
    return isAllowed;
  }

  private keyInterval(advice: RetryAdvice | null): number {
    return advice?.new_key_after ?? this.settings.retries.newKeyInterval;
  }

  /** Forgets the key and every wait. */
  async reset(): Promise<void> {
    // An enrolment under way would bring its key back.
    while (this.underWay !== null) await this.underWay.catch(() => undefined);
    this.unsaved = null;
    await this.change(({ slot }) => ({ ...freshState, slot, renewedAt: this.clock.now() }));
    this.forget();
    await this.deleteKey(0);
    await this.deleteKey(1);
  }

  private async deleteKey(slot: number): Promise<void> {
    if (this.parts.keys.platform !== "android") return;
    try {
      await this.parts.keys.delete(this.alias(slot));
    } catch {
      // A new key takes its place later.
    }
  }

  /** Counts failures to sign in a row. */
  async countFailures(failures: number, keyId: string): Promise<void> {
    try {
      await this.change((state) => {
        const isSame = keyIdOf(state) !== keyId || state.failures === failures;
        return isSame ? state : { ...state, failures };
      });
    } catch {
      // Signing the request matters more than saving the state.
    }
  }

  // Steps

  private async enrolNow(): Promise<Key> {
    const known = this.known(await this.state());
    if (known !== null) return known;
    const until = await this.waitsUntil();
    if (until !== null) throw new TryLater(until);
    try {
      const key = await this.takeSteps();
      this.unsaved = null;
      return key;
    } catch (error) {
      if (error instanceof StateError) this.delayUnsaved();
      throw error;
    }
  }

  /** Without a wait, each request would make a key that no launch knows. */
  private delayUnsaved(): void {
    const { retries } = this.settings;
    const count = (this.unsaved?.count ?? 0) + 1;
    const given = { retryAfter: null, advice: null };
    const seconds =
      waitAfter(retries, count, retries.enrolmentWaitMax, given, this.clock.chance());
    this.unsaved = { count, wait: waitOf(this.clock.now(), seconds) };
  }

  private async takeSteps(): Promise<Key> {
    for (;;) {
      const before = await this.state();
      const key = this.known(before);
      if (key !== null) {
        await this.deleteKey(1 - before.slot);
        return key;
      }
      const step = { phase: phaseOf(before.stage, this.parts.keys.platform) };
      try {
        await this.step(before, step);
      } catch (error) {
        if (error instanceof StateError) throw error;
        const remedy = remedyFor(error, before);
        this.reports.note(step.phase, error, before.failures + 1);
        if (remedy === "newKey" && before.uselessKeys === 0) {
          await this.change((state) => ({
            ...state, stage: { name: "none" }, uselessKeys: 1, unknownFailures: 0,
          }));
          continue;
        }
        await this.failed(error, remedy);
        // No other request may come before the end of the wait.
        await this.gateway.tellFailure();
        const isUnsupported = error instanceof KeyError && error.kind === "unsupported";
        throw isUnsupported ? new Unsupported() : error;
      }
    }
  }

  /** Takes one step, and notes in `step` what it is about to do. */
  private async step({ stage, slot }: State, step: { phase: Phase }): Promise<void> {
    const { keys } = this.parts;
    if (stage.name === "attested") {
      const { response, ticket } = await this.gateway.verify(stage, await this.ticket());
      this.challenges.keep(response.headers.get(HeaderName.challenge), this.clock.now());
      await this.keepTicket(ticket);
      await this.change((state) => ({
        ...state,
        stage: { name: "enrolled", keyId: stage.keyId },
        failures: 0,
        uselessKeys: 0,
        unknownFailures: 0,
        wait: null,
        isUnsupported: false,
      }));
    } else if (keys.platform === "apple") {
      const next = await this.stepOnApple(stage, keys);
      await this.change((state) => ({ ...state, stage: next }));
    } else {
      await this.stepOnAndroid(keys, 1 - slot, step);
    }
  }

  private async stepOnApple(stage: Stage, keys: AppleKeys): Promise<Stage> {
    if (stage.name === "made") {
      const { keyId } = stage;
      const challenge = await this.challenge({ key_id: urlSafe(keyId) });
      return { name: "challenged", keyId, challenge };
    }
    if (stage.name === "challenged") {
      const { keyId, challenge } = stage;
      const attestation = await keys.attestKey(keyId, challenge);
      return { name: "attested", keyId, challenge, proof: { attestation } };
    }
    return { name: "made", keyId: await keys.generateKey() };
  }

  /** The key before may still be signing, so the new one takes the other alias. */
  private async stepOnAndroid(keys: AndroidKeys, slot: number, step: { phase: Phase }) {
    const challenge = await this.challenge({});
    step.phase = "key";
    const { keyId, chain } = await keys.create(this.alias(slot), attestationChallenge(challenge));
    const stage: Stage = { name: "attested", keyId, challenge, proof: { chain } };
    await this.change((state) => ({ ...state, slot, stage }));
  }

  private async challenge(query: Readonly<Record<string, string>>): Promise<string> {
    const { installation } = this.settings;
    const answer = await this.gateway.challenge(
      "/attest/challenge",
      installation === null ? query : { ...query, installation },
    );
    if (answer.retry !== null) {
      await this.change((state) => ({ ...state, advice: answer.retry }));
    }
    return answer.token;
  }

  /** Null if there is none. Without its ticket the app is another installation, and works. */
  private async ticket(): Promise<string | null> {
    try {
      return (await this.parts.tickets?.load()) ?? null;
    } catch {
      return null;
    }
  }

  private async keepTicket(ticket: string | null): Promise<void> {
    try {
      if (ticket !== null) await this.parts.tickets?.save(ticket);
    } catch {
      // The key is enrolled, which matters more.
    }
  }

  // Failures

  /**
   * The time before which nothing may be tried; null for none. If the clock was set back since the
   * wait began, it is not known how much of the wait is over, so it begins anew: once, and never
   * for longer than it was.
   */
  private async waitsUntil(): Promise<number | null> {
    const now = this.clock.now();
    const unsaved = this.unsaved?.wait;
    const isUnsavedOver =
      unsaved === undefined || unsaved.until <= now || now + unsaved.length < unsaved.until;
    if (!isUnsavedOver) return unsaved.until;
    const { wait } = await this.change((state) => {
      if (state.wait === null || now + state.wait.length >= state.wait.until) return state;
      return { ...state, wait: waitOf(now, state.wait.length / 1000) };
    });
    return wait !== null && wait.until > now ? wait.until : null;
  }

  /** Notes a failure and the end of the wait. */
  private async failed(error: unknown, remedy: Remedy): Promise<void> {
    const { retries } = this.settings;
    const now = this.clock.now();
    const chance = this.clock.chance();
    await this.change((state) => {
      const failures = state.failures + 1;
      const refusal = error instanceof Refused ? error.refusal : null;
      const advice = refusal?.retry ?? (error instanceof KeyError ? state.advice : null);
      if (remedy === "wait") {
        // Being offline is no reason for a long wait.
        const limit = error instanceof ClientError ? retries.enrolmentWaitMax : retries.waitMax;
        const retryAfter = refusal?.retryAfter ?? null;
        const seconds = waitAfter(retries, failures, limit, { retryAfter, advice }, chance);
        const unknownFailures = state.unknownFailures + (mayBeTheKey(error, state) ? 1 : 0);
        return { ...state, failures, unknownFailures, wait: waitOf(now, seconds) };
      }
      if (remedy === "newKey") {
        // Another new key right away would fail in the same way.
        const uselessKeys = state.uselessKeys + 1;
        const seconds = keyWaitAfter(uselessKeys, this.keyInterval(advice ?? state.advice));
        return {
          ...state, failures, uselessKeys, unknownFailures: 0, stage: { name: "none" },
          wait: waitOf(now, seconds),
        };
      }
      const isUnsupported = error instanceof KeyError;
      if (!isUnsupported && refusal === null) return { ...state, failures };
      const seconds = refusal?.retry?.after ?? retries.enrolmentWaitMax;
      return { ...state, failures, isUnsupported, wait: waitOf(now, seconds) };
    });
  }
}
